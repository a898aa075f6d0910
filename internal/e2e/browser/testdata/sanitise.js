// What a notebook that is not trusted keeps of HTML: the part of JupyterLab 4.6's allow-list that a picture may use. Elements,
// attributes and declarations that are not on it are dropped and named.
(markup) => {
  const elements = 'a abbr b bdi br code div em h1 h2 h3 hr i img li mark meter ol p pre progress small span strong sub sup ' +
    'details summary colgroup table tbody thead td th tr u ul';
  const attributes = {
    '*': 'class dir hidden lang style title',
    details: 'open', div: 'align', meter: 'high low max min value', progress: 'max min value',
    img: 'alt height src width',
    table: 'align bgcolor border cellpadding cellspacing width', colgroup: 'align span valign width', tr: 'align bgcolor valign',
    td: 'align bgcolor colspan height nowrap rowspan valign width', th: 'align bgcolor colspan height nowrap rowspan valign width',
  };
  const properties = 'background background-color border border-bottom border-collapse border-color border-left border-radius ' +
    'border-right border-spacing border-top border-width color cursor display font-family font-size font-style font-weight ' +
    'height letter-spacing line-height margin margin-bottom margin-left margin-right margin-top max-height max-width min-height ' +
    'min-width opacity outline overflow overflow-wrap overflow-x overflow-y padding padding-bottom padding-left padding-right ' +
    'padding-top text-align text-decoration text-overflow vertical-align white-space width word-break';
  // Keywords, lengths, hexadecimal colours and rgb() of whole numbers; no other function, and no address.
  const value = /^(?:(?:[a-z-]+|#[0-9a-f]{3,8}|-?\d*\.?\d+(?:px|em|rem|ch|%)?|rgb\(\d{1,3},\s*\d{1,3},\s*\d{1,3}\))(?:\s*,\s*|\s+|$))+$/i;
  const has = (list, word) => (list || '').split(' ').includes(word);

  const dropped = [];
  const body = new DOMParser().parseFromString('<body>' + markup, 'text/html').body;
  const original = body.innerHTML;
  for (const e of [...body.querySelectorAll('*')]) {
    const name = e.localName;
    if (!body.contains(e)) continue; // dropped with its parent
    if (!has(elements, name)) {
      dropped.push(`<${name}>`);
      e.remove();
      continue;
    }
    for (const {name: attribute, value: text} of [...e.attributes]) {
      if (!has(attributes['*'], attribute) && !has(attributes[name], attribute)) {
        dropped.push(`${attribute} of <${name}>`);
        e.removeAttribute(attribute);
      } else if (attribute === 'src' && !/^data:image\/(png|svg\+xml);/.test(text)) {
        dropped.push(`src of <${name}>`);
        e.removeAttribute(attribute);
      }
    }
    if (!e.hasAttribute('style')) continue;
    const kept = e.getAttribute('style').split(';').filter((declaration) => declaration.trim()).filter((declaration) => {
      const colon = declaration.indexOf(':');
      const property = declaration.slice(0, colon).trim();
      const ok = has(properties, property) && value.test(declaration.slice(colon + 1).trim());
      if (!ok) dropped.push(declaration);
      return ok;
    });
    e.setAttribute('style', kept.join(';'));
  }
  return {original, sanitised: body.innerHTML, dropped};
}
