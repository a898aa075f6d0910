// Adds touch to matrices of layers or of maps that are complete without it. It draws the open
// matrix with its folded columns and all of them small. panelsData in panels.go has the fields of
// data. common.js, scale.js and matrix.js, which has the words for tokens and rows, stand before
// it. A panel is a matrix: of a generated token, or, of maps, of a layer.

// ranked has the columns of a row that stand out, those with the largest values first.
function ranked(method, row, grey) {
  const size = (i) => Math.abs(placeOf(method, row[i]));
  return range(0, row.length).filter((i) => !grey.has(i) && classOf(size(i)))
    .sort((a, b) => size(b) - size(a));
}
// readingOf returns what a reader chose: the method, the panel, the row, and, of maps, the column
// of a source, -1 if there is none.
function readingOf(data, choice) {
  const text = textReading(data, choice), {names, labelOf} = text;
  // columns are those that Go folded: unfolding is of the text alone.
  const columns = data.columns.map(([from, to, gap]) => ({tokens: range(from, to), gap}));
  const gaps = range(0, columns.length).filter((i) => columns[i].gap);
  const methodAt = () => within(choice.method, data.methods.length, data.lead);
  const method = () => data.methods[methodAt()];
  const panelAt = () => within(choice.panel, method().list.length, method().open);
  const panel = () => method().list[panelAt()];
  const row = () => within(choice.row, panel().cells.length, panel().row);
  const source = () => data.targets && choice.column >= 0 ? choice.column : -1;
  // tokenIn is the token whose value column i of a row has, and targetIn, of maps, that of the row.
  const tokenIn = (row, i) =>
    columns[i].gap ? panel().inside[row][gaps.indexOf(i)] : columns[i].tokens[0];
  const targetIn = (row, i) =>
    columns[row].gap ? panel().targets[row][i] : columns[row].tokens[0];
  const nameOf = ({tokens, gap}, token) => gap && token === undefined ?
    '⋯ ' + labelOf({tokens, gap}) : names[token === undefined ? tokens[0] : token];
  const rowName = (row) => data.targets ? nameOf(columns[row]) : method().rowNames[row];
  // layerName is the name of the layer that a cell of a row is of.
  const layerName = (row) => method().where + (data.targets ? panel().name : rowName(row));
  // shown has what colours the text: the row, the column of a source, or the sums of all layers,
  // with its scale, the columns that are grey, and the token of each value.
  function shown() {
    const {cells, grey, total} = panel(), i = source(), at = row();
    if (i >= 0) {
      return [method(), cells.map((row) => row[i]), new Set(), (row) => columns[row].tokens[0]];
    }
    if (at >= 0) return [method(), cells[at] || [], grey, (i) => tokenIn(at, i)];
    const limit = method().totalLimit || method().limit;
    return [{...method(), limit}, total || [], grey, (i) => tokenIn(cells.length, i)];
  }
  return {
    ...text, columns, methodAt, method, panelAt, panel, row, source, tokenIn, targetIn, nameOf,
    rowName, layerName, shown,
  };
}

// start reads the numbers, draws a picture, and answers what a reader does.
function start(root, data) {
  for (const {list} of data.methods) {
    for (const panel of list) {
      panel.cells = (panel.cells || []).map(numbersIn);
      panel.total = panel.total && numbersIn(panel.total);
      panel.grey = new Set(panel.grey);
    }
  }
  const reading = readingOf(data, choices(data.id, root, {unfolded: [], open: {}}));
  const {choice, columns, methodAt, method, panelAt, panel, row, source, shown} = reading;
  const view = Object.assign(viewOf(root, reading), {columns, go}), {find} = view;
  function go(change) {
    Object.assign(choice, change);
    root.classList.toggle('hm-wide', columns.length > 50);
    drawTabs(find('tabs'), data.methods, methodAt(), (method) => go({method, row: -1}));
    [drawAnswer, drawText, drawMatrix, drawThumbnails, drawReadout].forEach((draw) => draw(view));
    const [scale, values, grey, tokenOf] = shown(), [best] = ranked(scale, values, grey);
    if (best >= 0 && source() < 0) reveal(view.matrix, view, tokenOf(best));
  }
  const choose = (panel) => go({panel, row: data.targets ? row() : -1, column: -1});
  const chooseRow = (at) => go({row: at === choice.row && !data.targets ? -1 : at, column: -1});
  const chooseColumn = (column) => data.targets &&
    go({column: column === choice.column ? -1 : column, row: column});
  view.choose = choose;
  addParts(view, (at, i) => {
    if (at === undefined) return i >= 0 && chooseColumn(i);
    chooseRow(at);
    drawReadout(view, at, i);
  });
  onText(view, (token, shift) => {
    const other = method().list.findIndex((each) => each.token === token);
    const at = columns.findIndex(({tokens}) => tokens.includes(token));
    if (!data.targets && other >= 0 && other !== panelAt()) choose(other);
    else if (data.targets && !shift && at !== row()) chooseRow(at);
    else if (at >= 0) chooseColumn(at);
  });
  // Left and right choose a target or a token, up and down a layer.
  function move(side, up) {
    const rows = panel().cells.length, list = method().list.length;
    if (data.targets) {
      go({row: clamp(row() + side, rows), panel: clamp(panelAt() + up, list), column: -1});
    } else if (!up) choose(clamp(panelAt() + side, list));
    else go({row: row() < 0 ? (up > 0 ? rows - 1 : 0) : clamp(row() - up, rows)});
  }
  onKeys(root, () => {
    const ahead = find('text').dir === 'rtl' ? -1 : 1;
    return {
      ArrowLeft: () => move(-ahead, 0), ArrowRight: () => move(ahead, 0),
      ArrowUp: () => move(0, 1), ArrowDown: () => move(0, -1), Home: () => move(-Infinity, 0),
      End: () => move(Infinity, 0), Enter: () => chooseColumn(Math.max(row(), 0)),
      Escape: () => go({panel: undefined, row: data.targets ? choice.row : -1, column: -1}),
    };
  });
  liven(root, data, choice);
  go({});
}

// drawAnswer writes the sentence and the facts of the panel or, for another target or a source, in
// the same form.
function drawAnswer(view) {
  const {data, find, names, columns, method, panel, row, source} = view;
  const {layerName, nameOf, shown, placed} = view, [scale, values, grey, tokenOf] = shown();
  const list = ranked(scale, values, grey).slice(0, 3), say = find('say'), facts = find('facts');
  const named = list.map((i) => names[tokenOf(i)] + ' ' + format(scale, values[i], 0)).join(', ');
  const me = columns[Math.max(source(), row(), 0)];
  if (data.targets && (source() >= 0 || isAnotherRow(view))) {
    const verb = source() >= 0 ? ' gave most to ' : ' has most from ';
    say.replaceChildren(...list.length ?
      [bold(nameOf(me)), verb, ...joined(list.map((i) => [bold(names[tokenOf(i)])]))] :
      ['Nothing stands out for ', bold(nameOf(me))]);
    facts.replaceChildren([...named ? [named] : [], layerName(0), method().unit,
      ...placed(me, me.tokens[0], '')].join(' · '));
    return;
  }
  write(say, panel().say);
  write(facts, isAnotherRow(view) ? [layerName(row()) + ': ' + (named || 'nothing stands out')] :
    panel().facts);
}
// isAnotherRow reports whether a reader chose another row than the one that the panel opens with.
const isAnotherRow = ({row, panel}) => row() >= 0 && row() !== panel().row;
// drawText colours the text by what the row or the source has.
function drawText(view) {
  const {data, names, columns, panel, row, source, shown} = view;
  const [scale, values, grey, tokenOf] = shown(), steps = names.map(() => '');
  const places = values.map((value, i) =>
    value === undefined || grey.has(i) ? 0 : placeOf(scale, value));
  const least = Math.max(...places.map(Math.abs), 0) / 12;
  places.forEach((place, i) => {
    if (Math.abs(place) >= least) steps[tokenOf(i)] = classOf(place);
  });
  const here = data.targets ? columns[Math.max(source(), row(), 0)].tokens[0] : panel().token;
  paintText(view, (token) => [token === here ? 'hm-here' : steps[token]],
    (tokens) => tokens.map((token) => steps[token]).sort().pop());
}
function stepAt(scale, value, isGrey) {
  return value === undefined ? '' : isGrey ? 'hm-sink' : classOf(placeOf(scale, value)) || 'hm-z';
}
function drawMatrix(view) {
  const {data, find, matrix, names, columns, method, panel, row, source, rowName} = view;
  const {cells, grey, name} = panel(), shown = method();
  fillTable(matrix, view, cells.map((values, at) => ({
    key: at, name: rowName(at), here: at === row() && source() < 0,
    cells: columns.map((_, i) => cellOf(view, i, values[i] === undefined ? undefined : {
      grey: grey.has(i), step: grey.has(i) ? '' : classOf(placeOf(shown, values[i])),
      number: inCell(shown, values[i]),
    })).join(''),
  })), {
    bands: true, marked: (column) => column === columns[source()],
    axis: data.targets ? '' : 'layer',
  });
  entitle(matrix.bar.title, data.title, [shown.name, (data.targets ? shown.where : '') + name +
    (shown.parts ? ', what each layer adds' : '')].join(', '));
  const parts = legendOf(shown), sinks = [...grey].map((i) => columns[i])
    .filter(({tokens, gap}) => !gap && !(data.hidden || []).includes(tokens[0]));
  last(parts).append(sinksNote(names, sinks.map(({tokens}) => tokens[0])));
  find('legend').replaceChildren(...parts);
}
function drawThumbnails({data, find, columns, method, panelAt, choose}) {
  const shown = method(), box = find('thumbs');
  const width = Math.max(Math.floor(200 / columns.length), 1);
  const pictures = shown.list.map(({name, cells, grey}) => ({
    name: (data.targets ? shown.where : '') + name, columns: columns.length,
    width: columns.length * width, height: cells.length *
      (data.targets ? width : clamp(Math.floor(150 / cells.length), 13) || 2),
    rows: cells.map((values) => values.map((value, i) => stepAt(shown, value, grey.has(i)))),
  }));
  if (box.method !== shown) thumbnails(box, pictures, choose);
  box.method = shown;
  [...box.children].forEach((button, i) => { button.ariaPressed = i === panelAt(); });
}
// drawReadout writes what the pointer is on, or what is strongest in the row or in all of them.
function drawReadout(view, pointedRow, pointedColumn = view.source()) {
  const {data, names, columns, matrix, method, panel, row, tokenIn, targetIn, nameOf} = view;
  const {layerName, placed} = view, {cells, grey, total, name} = panel(), scale = method();
  let at = pointedRow === undefined ? row() : pointedRow, i = pointedColumn;
  if (!(i >= 0) || at < 0) {
    const size = ([row, column]) => Math.abs(placeOf(scale, cells[row][column]));
    const rows = range(0, cells.length).filter((each) => at < 0 || each === at);
    const [best] = rows.map((each) => [each, i >= 0 ? i : ranked(scale, cells[each], grey)[0]])
      .filter(([, column]) => column >= 0).sort((a, b) => size(b) - size(a));
    [at, i] = best || [Math.max(at, 0), i];
  }
  const value = (cells[at] || [])[i];
  const me = bold(data.targets ? nameOf(columns[at], i >= 0 && value !== undefined ?
    targetIn(at, i) : undefined) : name);
  if (value === undefined) {
    matrix.bar.readout.replaceChildren(me, i >= 0 ? ' · ' + nameOf(columns[i]) + ' comes later' :
      ' · nothing stands out');
    return;
  }
  const token = tokenIn(at, i), sum = total ? ', all layers ' + format(scale, total[i], 0) : '';
  matrix.bar.readout.replaceChildren(me, ' ← ', bold(names[token]), ' ' + [
    format(scale, value, 0) + sum, layerName(at), ...placed(columns[i], token, ''),
    ...grey.has(i) ? ['not in the scale'] : [],
  ].join(' · '));
}
// addParts adds the elements that the script alone draws in.
function addParts(view, click) {
  const {data, find} = view;
  view.matrix = tablePart(view, 'hm-matrix', (row, i) => drawReadout(view, row, i), click);
  view.matrix.bar = barOf();
  find('after').append(
    view.matrix.bar.bar, view.matrix.hold, make('div', {className: 'hm-legend'}),
    make('div', {className: 'hm-h hm-strip-title', textContent: data.small}),
    make('div', {className: 'hm-thumbs' + (data.targets ? ' hm-upward' : '')}));
}

begin('.hm-panels', start);
