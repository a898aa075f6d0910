// What is drawn below root: the elements, every piece of text with the colours that it is drawn in, and every element with a colour of its own.
(root) => {
  root.querySelectorAll('details').forEach((d) => { d.open = true; });
  const elements = {};
  const colored = [];
  for (const e of root.querySelectorAll('*')) {
    elements[e.localName] = (elements[e.localName] || 0) + 1;
    if (e.style.backgroundColor || e.style.color) {
      const drawn = getComputedStyle(e);
      colored.push({
        text: e.outerHTML.slice(0, 200), both: e.style.backgroundColor !== '' && e.style.color !== '',
        color: drawn.color, background: drawn.backgroundColor,
      });
    }
  }
  const texts = [];
  const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const text = walk.currentNode.nodeValue;
    if (!text.trim()) continue;
    let e = walk.currentNode.parentElement;
    const color = getComputedStyle(e).color;
    while (e && getComputedStyle(e).backgroundColor === 'rgba(0, 0, 0, 0)') e = e.parentElement;
    texts.push({
      text: text.slice(0, 200), both: e !== null && root !== e && root.contains(e), color,
      background: e ? getComputedStyle(e).backgroundColor : '',
    });
  }
  return {
    elements, colored, texts, text: root.textContent, hit: window.hit === undefined ? '' : String(window.hit),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
}
