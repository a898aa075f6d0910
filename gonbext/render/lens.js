// Adds touch to a picture of the lens that is complete without it: choosing tokens, and a readout
// of each cell. lensData in lenspage.go has the fields of data. common.js, scale.js and matrix.js
// stand before it.

function start(root, data) {
  const choice = choices(data.id, root, {unfolded: [], open: {}});
  const text = textReading(data, choice), {promptCount} = text;
  const columns = data.lens.map(({from, to, folded}) => ({tokens: range(from, to), gap: folded}));
  const chosen = () => data.positions ? data.chosen :
    within(choice.row, data.lens.length, data.chosen);
  const view = Object.assign(viewOf(root, {...text, chosen}), {
    columns, go, isFirstGenerated: (column) => data.positions && text.isFirstGenerated(column),
  }), {find} = view;
  const pick = (i) => data.positions || go({row: i});
  function go(change) {
    Object.assign(choice, change);
    [drawAnswer, drawText, drawMatrix].forEach((draw) => draw(view));
    drawReadout(view);
  }
  view.matrix = tablePart(view, 'hm-matrix hm-words', (row, i) => drawReadout(view, row, i),
    (row, i) => i >= 0 && pick(i));
  view.matrix.bar = barOf();
  entitle(view.matrix.bar.title, data.title, data.note);
  find('after').append(view.matrix.bar.bar, view.matrix.hold,
    make('div', {className: 'hm-legend'}, ...legendOf(data.scale)));
  // The steps of the text that Go wrote are those of the positions.
  view.steps = view.texts.map(
    ({element}) => [...element.classList].filter((name) => /^p\d$/.test(name)));
  onText(view, (token) => {
    const i = columns.findIndex(({tokens}) => tokens.includes(token));
    if (i >= 0) pick(i);
  });
  const move = (step) => pick(clamp(chosen() + step, data.lens.length));
  onKeys(root, () => ({
    ArrowLeft: () => move(-1), ArrowRight: () => move(1), Home: () => move(-Infinity),
    End: () => move(Infinity), Escape: () => pick(data.chosen),
  }));
  view.here = (token) => token === (data.positions ? promptCount + data.chosen :
    columns[chosen()].tokens[0]);
  liven(root, data, choice);
  go({});
  const at = data.positions ? view.steps.findIndex((steps) => steps.length) :
    columns[chosen()].tokens[0];
  if (at >= 0) reveal(view.matrix, view, at);
}

// drawAnswer writes the sentence of the chosen token from its line below the picture.
function drawAnswer({data, find, lines, chosen}) {
  const line = data.positions ? undefined : (lines[0] || [])[chosen()];
  if (!line) return;
  ['say', 'facts'].forEach((name, i) => find(name).replaceChildren(
    ...line.children[i].cloneNode(true).childNodes));
}
function drawText(view) {
  paintText(view, (token) => view.here(token) ? ['hm-here'] : view.steps[token],
    (tokens) => tokens.flatMap((token) => view.steps[token]).sort().pop() || '');
}
function drawMatrix(view) {
  const {data, matrix, columns, chosen} = view;
  fillTable(matrix, view, data.rows.map((name, row) => ({
    key: row, name, ends: data.wrote && [data.wrote[row]],
    cells: columns.map((_, i) => cellOf(view, i, {step: data.lens[i].steps[row]})).join(''),
  })), {
    axis: 'layer', bands: data.positions, last: data.wrote && ['of its logit'],
    marked: (column) => !data.positions && column === columns[chosen()],
  });
  for (const cell of matrix.table.querySelectorAll('tbody td[data-c]')) {
    const row = Number(cell.parentNode.dataset.i), column = data.lens[cell.dataset.c];
    if (column.folded) continue;
    cell.textContent = column.likely[row][0][0];
    cell.classList.toggle('hm-came', column.came[row]);
  }
}
// drawReadout writes what the model would have said in a cell, at first in that of the last layer.
function drawReadout({data, columns, matrix, names, placed, chosen}, row, i) {
  const at = i >= 0 ? i : data.positions ? columns.length - 1 : chosen();
  const column = data.lens[at], layer = row >= 0 ? row : 0, {readout} = matrix.bar;
  const place = placed(columns[at], columns[at].tokens[0], '');
  if (column.folded) return readout.replaceChildren(...place);
  const [chance, rank] = column.own[layer], [first, ...others] = column.likely[layer];
  const [attention, forward] = ((data.wrote || [])[layer] || '').split(' ');
  const where = data.positions ? 'read at ' + names[columns[at].tokens[0]] + ', ' : '';
  readout.replaceChildren(
    data.after[layer] + ': ', bold(first.join(' ')),
    others.map((other) => ', ' + other.join(' ')).join(''), ' · ', bold(column.name),
    ' ' + [chance, 'rank ' + rank, where + place.join(' · '), ...forward ? [
      'of its logit: attention ' + attention + ', feed-forward ' + forward,
    ] : []].join(' · '));
}

begin('.hm-lens', start);
