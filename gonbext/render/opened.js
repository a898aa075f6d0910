// What the scripts of pictures with an opened map share, the map of a head or of a layer. It stands
// before them, after common.js.

// largest is the index of the largest of count sizes, -1 if none is above 0.
function largest(count, size) {
  let at = -1;
  for (let j = 0, top = 0; j < count; j++) if (size(j) > top) [at, top] = [j, size(j)];
  return at;
}
// nameColumns names the columns with the largest of count sizes, up to 5 above 0, below an image of
// count × count cells, but for one whose name would cover another.
function nameColumns(image, count, size, name) {
  const box = image.parentElement, width = image.getAttribute('width'), places = [];
  let line = box.nextElementSibling;
  if (!line || line.className !== 'hw-2') {
    box.after(line = make('div', {className: 'hw-2', ariaHidden: true}));
  }
  line.setAttribute('style', 'position:relative;overflow:hidden;font-size:11px;height:10em;' +
    'max-width:100%;width:' + width + 'px');
  line.textContent = '';
  const sorted = [...Array(count).keys()].filter(size).sort((a, b) => size(b) - size(a));
  for (const j of sorted.slice(0, 5)) {
    const x = (j + 0.5) / count;
    if (places.some((other) => Math.abs(x - other) * width < 14)) continue;
    places.push(x);
    line.appendChild(make('span', {textContent: name(j)})).setAttribute('style',
      'position:absolute;writing-mode:vertical-rl;transform:translateX(-50%);left:' + 100 * x +
      '%');
  }
}
// steady keeps the names of a map's rows as wide as they are where any of them is the chosen one,
// which is bold and has a mark: the columns stay where they are.
function steady(rows) {
  if (!rows[0]) return;
  const each = (chosen) => rows.forEach((row) => row.classList.toggle('hw-x', chosen));
  each(true);
  const cell = rows[0].cells[0], {width} = cell.getBoundingClientRect();
  each(false);
  cell.style.boxSizing = 'border-box';
  cell.style.minWidth = width + 'px';
}
// boxOf is the box in which a map scrolls.
const boxOf = (row) => row.closest('table').parentElement;
// reveal scrolls a map that is wider than its box so that column j of a row can be seen, beside the
// names of the rows, which stay.
function reveal(row, j) {
  if (!row || j < 0) return;
  const cell = row.cells[j + 1].getBoundingClientRect(), box = boxOf(row);
  const left = row.cells[0].getBoundingClientRect().right;
  const {right} = box.getBoundingClientRect();
  if (cell.left < left || cell.right > right) {
    box.scrollLeft += (cell.left + cell.right - left - right) / 2;
  }
}
// staying does what a click in a map asks for: a map with rows stays where the reader clicked.
function staying(row, act) {
  if (!row) return act();
  const box = boxOf(row), {scrollLeft} = box;
  act();
  box.scrollLeft = scrollLeft;
}
