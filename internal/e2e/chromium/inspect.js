// What is drawn below root: the elements, every piece of text with the colours that it is drawn in,
// and every element with a colour of its own. Colours are what a reader sees: those of transparent
// elements are laid over what is behind them.
(root) => {
  root.querySelectorAll('details').forEach((d) => { d.open = true; });
  const parse = (color) => {
    const [r, g, b, a = 1] = color.match(/[\d.]+/g).map(Number);
    return {c: [r, g, b], a};
  };
  const over = (front, alpha, behind) =>
    front.map((x, i) => Math.round(alpha * x + (1 - alpha) * behind[i]));
  const probe = document.createElement('span');
  probe.style.backgroundColor = 'Canvas';
  document.body.append(probe);
  const canvas = parse(getComputedStyle(probe).backgroundColor).c;
  probe.remove();
  const behind = (e) => {
    if (!e) return canvas;
    const drawn = getComputedStyle(e), {c, a} = parse(drawn.backgroundColor);
    const own = a === 1 ? c : over(c, a, behind(e.parentElement));
    // A gradient of one colour is a layer on the colour.
    const layer = drawn.backgroundImage
      .match(/(?:^| )linear-gradient\((rgba?\([^)]*\)) 0px(?: 0px)?\)$/);
    return layer ? over(parse(layer[1]).c, parse(layer[1]).a, own) : own;
  };
  const opacity = (e) => e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1;
  const rgb = (c) => `rgb(${c.join(', ')})`;
  const paint = (e, text) => {
    const background = behind(e), {c, a} = parse(getComputedStyle(e).color);
    const color = rgb(over(c, a * opacity(e), background));
    return {text: text.slice(0, 200), color, background: rgb(background)};
  };
  const elements = {};
  const colored = [];
  for (const e of root.querySelectorAll('*')) {
    elements[e.localName] = (elements[e.localName] || 0) + 1;
    if (e.checkVisibility() && e.style.backgroundColor) colored.push(paint(e, e.outerHTML));
  }
  const texts = [];
  let text = '';
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const value = walk.currentNode.nodeValue, e = walk.currentNode.parentElement;
    if (['script', 'style'].includes(e.localName)) continue;
    text += value;
    if (value.trim() && e.checkVisibility()) texts.push(paint(e, value));
  }
  return {
    elements, colored, texts, text, hit: window.hit === undefined ? '' : String(window.hit),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}
