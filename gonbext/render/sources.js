// Adds a button for the colours to a picture of sources that is complete without it. sourcesData in
// sources.go has the fields of data. common.js stands before it.
function start(root, data) {
  const choice = choices(data.id, root, {open: {}}), bar = make('div', {className: 'hw-b'});
  bar.append(colorButton(data, choice, (from, to) => recolor(root, from, to)));
  root.querySelector('table').before(bar);
  keepOpen(root, choice.open);
  recolor(root, data.palette || 0, paletteOf(data, choice));
}

begin('.hw-sources[data-hw]', start);
