// Adds a button for the colours to a picture of sources that is complete without it. The attribute
// data-hw has numbers only; sourcesData in sources.go says what each of its fields is. Nothing is
// requested.
// common.js stands before it.
function start(root) {
  const d = JSON.parse(root.dataset.hw), s = choices(d.id, root, {open: {}}), bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(root, d, s, (from, to) => recolor(root, from, to)));
  root.querySelector('table').before(bar);
  keepOpen(root, s.open);
  recolor(root, d.c || 0, paletteOf(d, s));
}

begin('.hw-sources[data-hw]', start);
