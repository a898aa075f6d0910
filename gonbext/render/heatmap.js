// Adds touch to a heatmap that is complete without it. It draws the parts that need room or a
// choice: the matrix of one method with its folded columns, one line for each method, the layers
// and the alternatives of the chosen row. Sentences come from the lines that the picture has. All
// text is set as text, never as markup. heatmapdata.go describes the data. common.js, scale.js,
// matrix.js, which has the words for tokens and rows, and scores.js stand before it.

// rowsAtOnce is how many rows the matrix has at most; the others are reached by buttons.
const rowsAtOnce = 200;
// smallest is the strongest place of a row without values: nothing is divided by 0.
const smallest = 1e-9;

// readingOf returns what can be read of the data at a choice, without the page.
function readingOf(data, choice) {
  const {n: rowCount, names, roles, methods} = data;
  const text = textReading(
    data, choice, () => namedOf(method(), row()).filter((token) => roles[token] === 'p'));
  const {promptCount, members, textOf} = text;
  const method = () =>
    methods.find(({name}) => name === (choice.method || data.lead)) || methods[0];
  const row = () => choice.row < rowCount ? choice.row : data.chosen;
  // source is the token of which a reader asks what it gave, -1 if where a row came from is shown.
  const source = () => choice.source < names.length ? choice.source : -1;

  // The rows of a method.
  const has = (method, row) => method.values && row < method.has && !method.silent[row];
  const isGrey = (method, row, token) => method.grey.has(token) ||
    method.sinks && method.sinks[row] === token || data.targets && token === promptCount + row;
  // valueIn is the value of tokens together: their sum or, where a method or the caller wants it,
  // the highest or the strongest of them.
  function valueIn(method, row, tokens, strongest) {
    let sum;
    for (const token of tokens) {
      const value = method.values[row][token];
      if (value === undefined || tokens.length > 1 && isGrey(method, row, token)) continue;
      if (sum === undefined) sum = value;
      else if (strongest) sum = sizeIn(method, value) > sizeIn(method, sum) ? value : sum;
      else sum = method.maximum ? Math.max(sum, value) : sum + value;
    }
    return sum;
  }
  const sizeIn = (method, value) => Math.abs(placeOf(method, value));
  // strongestOf is the largest size that a source of a row has on the scale.
  const strongestOf = (method, row) => !has(method, row) ? smallest :
    Math.max(smallest, ...method.values[row].map(
      (value, token) => isGrey(method, row, token) ? 0 : sizeIn(method, value)));
  // namedOf are the sources that the facts of a row list, in their order.
  const namedOf = (method, row) => has(method, row) ? method.named[row] : [];
  // given has what the source gave to each row: the place on the scale, the row, and the value.
  const given = (method) => range(0, rowCount)
    .filter((row) => has(method, row) && !isGrey(method, row, source()))
    .map((row) => [row, valueIn(method, row, members(source()))])
    .filter(([, value]) => value !== undefined)
    .map(([row, value]) => [placeOf(method, value), row, value])
    .filter(([place]) => classOf(place))
    .sort(([a], [b]) => Math.abs(b) - Math.abs(a));
  // tokenOf is the token of the text that a row belongs to, rowAt the row of a token, -1 for none.
  const tokenOf = (row) => data.positions ? data.positions[row] : promptCount + row;
  function rowAt(token) {
    if (data.positions) return data.positions.indexOf(token);
    return token >= promptCount && token - promptCount < rowCount ? token - promptCount : -1;
  }
  function rowName(row) {
    if (data.rowNames) return data.rowNames[row];
    const token = promptCount + row;
    return choice.group && textOf(members(token)).trim() || names[token];
  }
  return {
    ...text, rowCount, methods, method, row, source, has, isGrey, valueIn, strongestOf, namedOf,
    given, tokenOf, rowAt, rowName,
  };
}

function start(root, data) {
  for (const method of data.methods) {
    method.grey = new Set(method.grey);
    method.silent = method.silent || {};
    if (method.rows) {
      method.values = range(0, data.n).map(
        (row) => row < method.has ? numbersIn(method.rows[row]) : []);
    }
    if (method.layers) method.parts = method.layers.map(numbersIn);
  }
  run(root, readingOf(data, choices(data.id, root, {unfolded: [], open: {}})));
}

// run draws a picture and answers what a reader does. The view that the parts below are given has,
// beside that of viewOf, the tables matrix and strip, and go, which draws everything after a change
// of the choice.
function run(root, reading) {
  const {data, choice, method, methods, source, row, rowAt, rowCount, namedOf} = reading;
  const view = Object.assign(viewOf(root, reading), {go, unfolds: true}), {find} = view;
  function go(change) {
    Object.assign(choice, change);
    view.columns = reading.columnsNow();
    root.classList.toggle('hm-wide', view.columns.length > 50);
    root.classList.toggle('hm-difference', Boolean(method().difference));
    drawTabs(find('tabs'), methods, methods.indexOf(method()), chooseMethod);
    [drawAnswer, drawText, drawScores, drawLinks, drawSide, drawStrip, drawMatrix].forEach(
      (draw) => draw(view));
    drawSwitches(root);
    const [best] = namedOf(method(), row());
    if (source() < 0 && best !== undefined) reveal(view.matrix, view, best);
    drawReadout(view);
  }
  const chooseMethod = (i) => go({method: methods[i].name});
  const toggleSource = (token) => go({source: source() === token ? -1 : token});
  const clickOn = (chooseRow) => (at, i) => {
    if (at >= 0) chooseRow(at);
    else if (i >= 0) toggleSource(view.columns[i].tokens[0]);
  };
  addParts(view, clickOn(chooseMethod), clickOn((at) => go({row: at, source: -1})));
  onText(view, (token, shift) => {
    const at = rowAt(token), again = at === row() && source() < 0;
    if (at >= 0 && !shift && !again) go({row: at, source: -1});
    else toggleSource(token);
  });
  // Left and right go to another row, up and down to another method.
  const step = (rows, others) => () => go({
    source: -1, row: clamp(row() + rows, rowCount),
    method: methods[(methods.indexOf(method()) + others + methods.length) % methods.length].name,
  });
  onKeys(root, () => ({
    ArrowLeft: step(-1, 0), ArrowRight: step(1, 0), Home: step(-Infinity, 0),
    End: step(Infinity, 0), ArrowUp: step(0, -1), ArrowDown: step(0, 1), Escape: step(0, 0),
  }));
  liven(root, data, choice);
  go({});
}

// The answer: sentence and text.

// drawAnswer writes the sentence and the facts of the row, from its line below the picture.
function drawAnswer(view) {
  const {find, names, methods, method, row, source, namedOf, rowName, lines} = view;
  if (source() >= 0) return drawGiven(view);
  const line = (lines[methods.indexOf(method())] || [])[row()];
  if (line) {
    ['say', 'facts', 'how'].forEach((part, i) => {
      find(part).replaceChildren(...line.children[i].cloneNode(true).childNodes);
    });
    return;
  }
  const best = namedOf(method(), row()).slice(0, 3).map((token) => names[token]);
  find('say').replaceChildren(bold(rowName(row())),
    ': ' + (best.join(', ') || 'nothing stands out'));
  find('facts').replaceChildren(method().unit);
}
// drawGiven writes what a source gave to each row, in place of where a row came from.
function drawGiven(view) {
  const {data, find, method, row, source, given, members, textOf, rowName, whereIs, go} = view;
  const say = find('say'), rows = given(method()).filter(([place]) => place > 0).slice(0, 3);
  say.replaceChildren(bold(textOf(members(source()))));
  if (!rows.length) say.append(' stands out for no ' + data.row);
  rows.forEach(([, target], i) => {
    const before = !i ? ' stands out most for ' : i === rows.length - 1 ? ' and ' : ', ';
    say.append(before, bold(rowName(target)));
  });
  find('facts').replaceChildren(whereIs(source()) + ' · what it gave to each row · ', backButton(
    'back to where ' + rowName(row()) + ' came from', () => go({source: -1})));
}
// drawText colours the text by what the row has from each token or, of a source, by what each token
// has from it.
function drawText(view) {
  const {method, row, source, has, valueIn, strongestOf, namedOf, tokenOf, members} = view;
  const strongest = strongestOf(method(), row()), most = method().difference ? 1 : strongest;
  const named = namedOf(method(), row()).slice(0, method().said?.[row()]);
  const framed = source() < 0 ? [tokenOf(row())] : members(source());
  paintText(view, (token) => {
    if (framed.includes(token)) return ['hm-here'];
    const place = textPlace(view, token, most / 12), isNamed = named.includes(token);
    // In a row, what the sentence does not name needs more; drawing.go has the parts.
    const least = source() >= 0 || isNamed ? 0 : strongest * (place < 0 ? 0.5 : 0.4);
    const step = classOf(place), weak = !isNamed && source() < 0 && step === 'p1';
    return [Math.abs(place) < least || weak ? '' : step, step && isNamed && 'hm-src'];
  }, (tokens) => {
    const value = source() < 0 && has(method(), row()) ?
      valueIn(method(), row(), tokens, true) : undefined;
    return value === undefined ? '' : classOf(placeOf(method(), value));
  });
}
// textPlace is the place on the scale that a token of the text is coloured by; 0 for what the row
// has from it if that is below least.
function textPlace(view, token, least) {
  const {method, row, source, has, isGrey, valueIn, members, rowAt} = view;
  if (source() >= 0) {
    const target = rowAt(token);
    if (target < 0 || !has(method(), target) || isGrey(method(), target, source())) return 0;
    const value = valueIn(method(), target, members(source()));
    return value === undefined ? 0 : placeOf(method(), value);
  }
  if (!has(method(), row()) || isGrey(method(), row(), token) ||
    method().values[row()][token] === undefined) return 0;
  const place = placeOf(method(), valueIn(method(), row(), members(token)));
  return Math.abs(place) < least ? 0 : place;
}
// The matrix of a method, and a line of the chosen row for each method.

function drawMatrix(view) {
  const {data, method, row, source, rowCount, rowName, matrix, bar} = view;
  const most = Math.max(rowCount - rowsAtOnce, 0), shown = method();
  const from = Math.min(Math.max(row() - rowsAtOnce / 2, 0), most);
  fillTable(matrix, view, range(from, Math.min(from + rowsAtOnce, rowCount)).map((at) => ({
    key: at, name: rowName(at), here: at === row() && source() < 0,
    cells: cellsOf(view, shown, at), note: shown.silent[at] || shown.wrong || '',
    ends: [...shown.source ? [sourceEnd(contributionOf(shown, at))] : [], data.chances[at]],
  })), {
    bands: true, last: [...shown.source ? ['from source'] : [], 'p'],
    marked: ({tokens}) => tokens.includes(source()),
  });
  entitle(bar.title, 'All ' + data.shown, [shown.name, shown.layer].join(', '));
  drawLegend(view);
}
// sourceEnd returns the end of a row of which a part comes from the source, if that is known.
const sourceEnd = (part) => part === undefined ? '' : {text: percent(part), part};
function drawStrip(view) {
  const {data, find, strip, methods, method, row, rowName, strongestOf} = view;
  if (!strip) return;
  entitle(find('strip-title'), '', data.compared ? 'A and B on one scale, A − B on its own' :
    'each line on its own scale');
  find('strip-title').prepend(
    bold(rowName(row())), data.compared ? ' in A, in B, and A − B' : ' by every method');
  const limitOf = (each) => each.kind === 'lift' || data.compared ? 0 :
    strongestOf(each, row()) * each.limit;
  fillTable(strip, view, methods.map((each, i) => ({
    key: i, name: each.name, here: each === method(),
    cells: cellsOf(view, each, row(), limitOf(each)),
    note: each.silent[row()] || each.wrong || '',
  })));
}
// cellsOf returns the cells of a row, '' if it has no values.
function cellsOf(view, method, row, limit) {
  const {data, columns, promptCount, has, isGrey, valueIn} = view;
  return has(method, row) ? columns.map(({tokens, gap}, i) => {
    const value = valueIn(method, row, tokens, gap);
    if (value === undefined) return cellOf(view, i);
    const grey = tokens.length === 1 && isGrey(method, row, tokens[0]);
    const named = !data.hidden.includes(tokens[0]) &&
      !(data.targets && tokens[0] === promptCount + row);
    return cellOf(view, i, {
      step: classOf(placeOf(method, value, limit)), grey,
      number: grey && !named ? '' : inCell(method, value),
    });
  }).join('') : '';
}
// drawLegend names where each step of the scale begins, and what rows and columns are.
function drawLegend({data, find, columns, method, names, whereIs}) {
  const columnsAre = columns.some(({gap}) => gap) ?
    '\u00a0· dotted: folded, coloured by the strongest inside' :
    '\u00a0· columns: where they came from';
  const parts = legendOf(method());
  const sinks = [...method().grey].filter((token) => !data.hidden.includes(token) &&
    columns.some(({tokens, gap}) => !gap && tokens[0] === token));
  const begins = data.begins === undefined ? '' :
    '\u00a0· ' + names[data.begins] + ': ' + whereIs(data.begins);
  last(parts).append(
    '\u00a0· rows: ' + data.shown + columnsAre + begins + sinksNote(names, sinks));
  find('legend').replaceChildren(...parts);
}

// Beside the matrix: what could have come, and the layers.

function drawSide(view) {
  const {data, find, method, row, source, given, has, rowName} = view;
  const parts = [], sides = data.alternatives.map((side) => side && side[row()]);
  if (source() >= 0) {
    parts.push(titled('What it gave', method().unit, barsOf(given(method()).slice(0, 10).map(
      ([place, at, value]) => ({
        name: rowName(at), part: Math.abs(place), number: format(method(), value, at),
        step: classOf(place),
      })))));
  } else {
    sides.forEach((others, side) => others && parts.push(titled(
      data.others + (sides.length > 1 ? ' in ' + 'AB'[side] : ''), data.chance,
      barsOf(others.map(([name, chance, came]) => ({
        name, part: chance, number: percent(chance), strong: came,
      }))))));
    if (has(method(), row())) parts.push(layersOf(view));
  }
  find('side').replaceChildren(...parts);
}
// layersOf returns the strongest sources of the row, with what every layer gave or has.
function layersOf(view) {
  const {data, names, promptCount, method, row} = view;
  const shown = method(), at = row(), placeAt = (token) => placeOf(shown, shown.values[at][token]);
  let list = shown.strongest[at].filter((token) => classOf(placeAt(token)))
    .map((token) => ({token}));
  let layerCount = 0, limit = 1, title = 'Strongest sources';
  let note = shown.more ? 'every layer: ' + shown.more : '';
  if (shown.parts) {
    const before = shown.strongest.slice(0, at).reduce((sum, {length}) => sum + length, 0);
    list = shown.strongest[at].map((token, i) => ({token, parts: shown.parts[before + i]}));
    layerCount = shown.layerNames.length;
    limit = Math.max(smallest, ...list.flatMap(({parts}) => parts).map(
      (value) => shown.kind === 'lift' ? 0 : Math.abs(value)));
    title = 'Layer by layer';
    note = (shown.byLayer ? shown.unit + ' that each layer wrote' :
      shown.combined ? 'up to each layer' : 'each layer alone') +
      ', up to ' + format(shown, limit, at);
  }
  const most = Math.max(smallest, ...list.map(({token}) => Math.abs(shown.values[at][token])));
  const partOf = (value, place) => Math.abs(shown.kind === 'lift' ? place : value / most);
  const shortName = (token) => data.chat && data.columnNames?.[token] || names[token];
  const line = ({token, parts}) => {
    const where = token < promptCount ? token : view.answer[0] + (token - promptCount + 1);
    const value = shown.values[at][token], place = placeAt(token);
    return make('tr', {},
      make('th', {scope: 'row'}, shortName(token),
        make('span', {className: 'hm-faint'}, ' ' + where)),
      ...parts ? parts.map(
        (part) => make('td', {className: classOf(placeOf(shown, part, limit)) || 'hm-z'})) :
        [make('td', {}, barOfPart(partOf(value, place), classOf(place)))],
      make('td', {className: 'hm-sum'}, format(shown, value, at)));
  };
  return titled(title, note, make('table', {className: 'hm-layers'},
    make('colgroup', {}, ...range(0, (layerCount || 1) + 2).map(() => make('col', {}))),
    make('tbody', {}, ...list.map(line)),
    ...layerCount > 3 ? [layerTicks(shown.layerNames, view)] : []));
}
// layerTicks returns a line below the layers that names four of them, or where a stack begins.
function layerTicks(layerNames, {data, layerLabel}) {
  const end = layerNames.length - 1, stacks = data.layerLabels && layerNames.map(
    (layer) => layerLabel(layer).split(' ')[0]);
  const ticks = stacks ? range(0, end + 1).filter((i) => stacks[i] !== stacks[i - 1]) :
    [0, 1, 2, 3].map((third) => third < 3 ? Math.round(third * (end + 1) / 3) : end);
  return make('tfoot', {}, make('tr', {}, make('th', {scope: 'row'}, 'layer'),
    ...ticks.map((tick, i) => make('td', {
      colSpan: (ticks[i + 1] ?? end + 2) - tick,
      textContent: stacks ? stacks[tick] : layerNames[tick],
    }))));
}

// The controls: what is over the matrix, and what a reader does.

// drawReadout writes what the pointer is on, or the strongest source of the row.
function drawReadout(view, pointedRow, pointedColumn) {
  const {data, bar, columns, wordOf, method, row, source} = view;
  const {has, isGrey, valueIn, namedOf, members, rowName, labelOf, whereIs, placed} = view;
  const shown = method(), [best] = namedOf(shown, row());
  const at = pointedRow === undefined ? row() : pointedRow;
  let column = columns[pointedColumn];
  if (!column && source() >= 0) column = {tokens: members(source())};
  else if (!column) column = columns.find(({tokens}) => tokens.includes(best));
  if (!column || !has(shown, at)) {
    bar.readout.replaceChildren(bold(rowName(at)),
      ' · ' + (shown.silent[at] || shown.wrong || 'nothing stands out'));
    return;
  }
  const {tokens, gap} = column, value = valueIn(shown, at, tokens, gap);
  const token = gap && tokens.find((each) => shown.values[at][each] === value) || tokens[0];
  if (value === undefined) {
    bar.readout.replaceChildren(bold(labelOf(column)), ' · ' + whereIs(token));
    return;
  }
  const notes = [format(shown, value, at), ...placed(column, token)];
  if (!gap && isGrey(shown, at, token)) notes.push('not in the scale');
  if (data.chances[at]) notes.push('p ' + data.chances[at]);
  const named = tokens.length > 1 && !gap ? [[labelOf(column), 'b']] : wordOf(token);
  write(bar.readout, [[rowName(at), 'b'], ' ← ', ...named, ' ' + notes.join(' · ')]);
}
// addParts adds the elements that the script alone draws in: the matrix below its switches and,
// from three methods on, a line for each.
function addParts(view, clickStrip, clickMatrix) {
  const {find, methods} = view, after = find('after');
  if (methods.length > 2) {
    view.strip = tablePart(view, 'hm-strip', () => {}, clickStrip);
    after.append(make('div', {className: 'hm-h hm-strip-title'}), view.strip.hold);
  }
  view.matrix = tablePart(
    view, 'hm-matrix', (row, column) => drawReadout(view, row, column), clickMatrix);
  view.bar = barOf(...switchesOf(view));
  after.append(view.bar.bar, view.matrix.hold, make('div', {className: 'hm-legend'}));
  addScores(view);
}
function switchesOf({data, choice, roles, go}) {
  const groups = {words: 'whole words', sentences: 'sentences', turns: 'turns'};
  const switches = Object.keys(groups).filter((group) => data.groups[group]).map((group) => {
    const isOn = () => choice.group === group;
    return switchOf(groups[group], isOn, () => go({group: isOn() ? '' : group}));
  });
  if (data.turns.length > 1 && roles.includes('t') && data.chat) {
    switches.push(switchOf(
      'template tokens', () => choice.template, () => go({template: !choice.template})));
  }
  if (data.methods.some(({links}) => links)) {
    switches.push(switchOf('alignment', () => isAligned(data, choice),
      () => go({aligned: !isAligned(data, choice)})));
  }
  return switches.concat(unfoldSwitch(data, choice, go), scoresSwitch(data, choice, go));
}

// The alignment: lines from each token of the target to the one of the source that it is linked
// with.

const isAligned = (data, choice) => choice.aligned ?? Boolean(data.aligned);
// linksOf are the pairs of tokens that a method links, if they are shown.
const linksOf = ({data, choice, method, promptCount}) => !isAligned(data, choice) ? [] :
  (method().links || []).map((token, row) => [token, promptCount + row]).filter(
    ([token]) => token >= 0);
function drawLinks(view) {
  const {root, find, texts, row, tokenOf} = view, text = find('text'), links = linksOf(view);
  text.querySelector('svg')?.remove();
  root.classList.toggle('hm-linked', links.length > 0);
  if (!links.length) return;
  if (!view.linksFollow) {
    view.linksFollow = new ResizeObserver(() => drawLinks(view));
    view.linksFollow.observe(text);
  }
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const box = text.getBoundingClientRect();
  for (const [from, to] of links) {
    if (!texts.has(from) || !texts.has(to)) continue;
    const [a, b] = [from, to].map((token) => texts.get(token).getBoundingClientRect());
    const line = document.createElementNS('http://www.w3.org/2000/svg', 'line');
    const ends = {
      x1: a.left + a.width / 2 - box.left, y1: a.bottom - box.top,
      x2: b.left + b.width / 2 - box.left, y2: b.top - box.top,
    };
    for (const [key, value] of Object.entries(ends)) line.setAttribute(key, value.toFixed(1));
    line.classList.toggle('hm-here', to === tokenOf(row()));
    svg.append(line);
  }
  text.append(svg);
}

begin('.hm-heatmap', start);
