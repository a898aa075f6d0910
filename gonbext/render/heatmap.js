// Adds touch to a heatmap that is complete without it. It draws the parts that need room or a
// choice: the matrix of one method with its folded columns, one line for each method, the layers
// and the alternatives of the chosen row. Sentences come from the lines that the picture has. All
// text is set as text, never as markup. heatmapdata.go describes the data. common.js and
// scale.js stand before it.
//
// In all of it, row is the index of a row, token that of a token of the text, and tokens are the
// tokens of a column or a group.

// rowsAtOnce is how many rows the matrix has at most; the others are reached by buttons.
const rowsAtOnce = 200;
// smallest is the strongest place of a row without values: nothing is divided by 0.
const smallest = 1e-9;

function percent(probability) {
  if (probability >= 0.9995) return '100 %';
  const number = 100 * probability;
  return (probability >= 0.1 ? Math.round(number) : number.toFixed(1)) + ' %';
}
// readingOf returns what can be read of the data at a choice, without the page.
function readingOf(data, choice) {
  const {m: promptCount, n: rowCount, names, roles, methods} = data;
  const shown = new Set(data.columns.filter(([, , folded]) => !folded).map(([from]) => from));
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
  // ranked has the places and the tokens of the sources of a row that stand out, those with the
  // largest values first.
  function ranked(method, row) {
    if (!has(method, row)) return [];
    const least = strongestOf(method, row) / 12;
    return method.values[row]
      .map((value, token) => [placeOf(method, value), token])
      .filter(([place, token]) => !isGrey(method, row, token) && classOf(place) &&
        Math.abs(place) >= least)
      .sort(([a], [b]) => b - a);
  }
  const bySize = ([a], [b]) => Math.abs(b) - Math.abs(a);
  // given has what the source gave to each row: the place on the scale, the row, and the value.
  const given = (method) => range(0, rowCount)
    .filter((row) => has(method, row) && !isGrey(method, row, source()))
    .map((row) => [row, valueIn(method, row, members(source()))])
    .filter(([, value]) => value !== undefined)
    .map(([row, value]) => [placeOf(method, value), row, value])
    .filter(([place]) => classOf(place))
    .sort(bySize);
  // agreement tells how many methods have the same source first.
  function agreement(row) {
    const votes = new Map(), speaking = methods.filter((method) => has(method, row));
    for (const method of speaking) {
      const [best] = ranked(method, row);
      if (best) votes.set(best[1], (votes.get(best[1]) || 0) + 1);
    }
    const [first] = [...votes].sort(([, a], [, b]) => b - a);
    return first ? ', ' + first[1] + ' of the ' + speaking.length + ' that say something put ' +
      names[first[0]] + ' first' : '';
  }

  // Tokens and their groups. groupOf is the first token of a token's word, sentence or turn.
  const groupOf = (token) => choice.group ? data.groups[choice.group][token] : token;
  const members = (token) => choice.group ?
    range(groupOf(token), names.length).filter((other) => groupOf(other) === groupOf(token)) :
    [token];
  const turnOf = (token) => data.turns.find(([, , end]) => token < end) || ['', 0, 0];
  const whereIs = (token) => token >= promptCount ? 'generated ' + (token - promptCount + 1) :
    (turnOf(token)[0] || data.given) + ' ' + token;
  const textOf = (tokens) => tokens.map(
    (token, i) => (i && data.spaces[token] === '1' ? ' ' : '') + names[token]).join('');
  // around has what stands around a token.
  function around(token) {
    const [, begin, end] = turnOf(token);
    return '“' + textOf(range(Math.max(token - 3, begin, 0), Math.min(token + 3, end))) + '”';
  }
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

  // The columns of the matrix: their tokens, and whether they are a gap.
  const isKept = (token) => shown.has(token) || choice.all || choice.unfolded.includes(token) ||
    choice.template && roles[token] === 't';
  const inPrompt = (token) => roles[token] === 'p';
  function columnsNow() {
    const columns = [];
    for (let from = 0, to; from < data.sources; from = to) {
      to = from + 1;
      const extend = (joins) => { while (to < data.sources && joins()) to++; };
      const sameGroup = () => groupOf(to) === groupOf(from);
      const whole = choice.group && choice.group !== 'words', gap = !whole && !isKept(from);
      if (gap) extend(() => !isKept(to) && inPrompt(to) === inPrompt(from));
      else if (choice.group) extend(() => sameGroup() && (whole || isKept(to)));
      columns.push({tokens: range(from, to), gap});
    }
    return columns;
  }
  function labelOf({tokens, gap}) {
    if (!gap) return textOf(tokens).trim() || names[tokens[0]];
    if (inPrompt(tokens[0])) return String(tokens.length);
    return turnOf(tokens.find((token) => roles[token] === 'y') || last(tokens))[0] || '';
  }
  // isFirstGenerated reports whether a line stands before a column.
  const isFirstGenerated = ({tokens}) => tokens[0] === promptCount && !data.positions;
  return {
    data, choice, promptCount, rowCount, names, roles, methods, method, row, source, has, isGrey,
    valueIn, strongestOf, ranked, bySize, given, agreement, members, turnOf, whereIs, textOf,
    around, tokenOf, rowAt, rowName, isKept, columnsNow, labelOf, isFirstGenerated,
  };
}

function start(root, data) {
  const numbers = (packed) => range(0, sizeOf(packed)).map((j) => valueOf(packed, j));
  for (const method of data.methods) {
    method.grey = new Set(method.grey);
    method.silent = method.silent || {};
    if (method.rows) {
      method.values = range(0, data.n).map(
        (row) => row < method.has ? numbers(method.rows[row]) : []);
    }
    if (method.layers) method.parts = method.layers.map(numbers);
  }
  run(root, readingOf(data, choices(data.id, root, {unfolded: [], open: {}})));
}

// run draws a picture and answers what a reader does. What the parts below are given has, beside
// the reading, the page: find finds an element, texts are the tokens of the text with their own
// classes, and go draws everything after a change of the choice.
function run(root, reading) {
  const {data, choice, method, source, row, ranked} = reading;
  const find = (name) => root.querySelector('.hm-' + name);
  const texts = [...root.querySelectorAll('.hm-text :is(span,u)')].map((element) => ({
    element, own: [...element.classList].filter((name) => /^hm-(k|w|head)$/.test(name)),
  }));
  const lines = [...root.querySelectorAll('.hm-lines')].map((box) => [...box.children].filter(
    (line) => line.localName === 'div' && line.children.length === 3));
  const view = {...reading, root, find, texts, lines, go, columns: []};
  function go(change) {
    Object.assign(choice, change);
    view.columns = reading.columnsNow();
    root.classList.toggle('hm-wide', view.columns.length > 50);
    root.classList.toggle('hm-template', Boolean(choice.template));
    [drawTabs, drawAnswer, drawText, drawSide, drawStrip, drawMatrix, drawSwitches].forEach(
      (draw) => draw(view));
    const best = source() < 0 && ranked(method(), row())[0];
    if (best) reveal(view, best[1]);
    drawReadout(view);
    countHidden(view);
  }
  addParts(view);
  paletteMenu(root, data.palettes, choice);
  root.classList.add('hm-on');
  answerTo(view);
  find('details').open = false; // it was open for readers without a script
  keepOpen(root, choice.open);
  go({});
}

// The answer: tabs, sentence and text.

function drawTabs({find, methods, method, go}) {
  find('tabs').replaceChildren(...methods.map((each) => {
    const {name} = each, choose = () => go({method: name});
    const tab = make('button', {type: 'button', textContent: name, onclick: choose});
    tab.setAttribute('role', 'tab');
    tab.setAttribute('aria-selected', each === method());
    return tab;
  }));
}
// drawAnswer writes the sentence and the facts of the row, from its line below the picture.
function drawAnswer(view) {
  const {find, names, methods, method, row, source, ranked, rowName, lines} = view;
  if (source() >= 0) return drawGiven(view);
  const line = (lines[methods.indexOf(method())] || [])[row()];
  if (line) {
    ['say', 'facts', 'how'].forEach((part, i) => {
      find(part).replaceChildren(...line.children[i].cloneNode(true).childNodes);
    });
    return;
  }
  const best = ranked(method(), row()).slice(0, 3).map(([, token]) => names[token]);
  find('say').replaceChildren(bold(rowName(row())),
    best.length ? ' came from ' + best.join(', ') : ': nothing stands out');
  find('facts').replaceChildren(method().unit);
}
// drawGiven writes what a source gave to each row, in place of where a row came from.
function drawGiven(view) {
  const {data, find, method, row, source, given, members, textOf, rowName, whereIs, go} = view;
  const say = find('say'), rows = given(method()).filter(([place]) => place > 0).slice(0, 3);
  say.replaceChildren(bold(textOf(members(source()))));
  if (!rows.length) say.append(' stands out for no ' + data.row);
  rows.forEach(([, target], i) => {
    const before = !i ? ' went mostly into ' : i === rows.length - 1 ? ' and ' : ', ';
    say.append(before, bold(rowName(target)));
  });
  const back = make('button', {
    type: 'button', textContent: 'back to where ' + rowName(row()) + ' came from',
    onclick: () => go({source: -1}),
  });
  back.style.color = 'var(--link)';
  find('facts').replaceChildren(whereIs(source()) + ' · what it gave to each row · ', back);
}
// drawText colours the text by what the row has from each token or, of a source, by what each token
// has from it.
function drawText(view) {
  const {root, texts, method, row, source, has, valueIn, strongestOf} = view;
  const {tokenOf, members, isKept} = view, least = strongestOf(method(), row()) / 12;
  const ofSource = source() < 0 ? [] : members(source());
  texts.forEach(({element, own}, token) => {
    const here = source() < 0 ? token === tokenOf(row()) : ofSource.includes(token);
    element.className = [...own, here ? 'hm-here' : classOf(textPlace(view, token, least))]
      .filter((name) => name && !(name === 'hm-head' && isKept(token)))
      .join(' ');
    element.removeAttribute('style');
  });
  for (const fold of root.querySelectorAll('.hm-text details')) {
    const tokens = tokensIn(texts, fold);
    fold.open = isKept(tokens[0]);
    const value = source() < 0 && has(method(), row()) ?
      valueIn(method(), row(), tokens, true) : undefined;
    fold.querySelector('summary').className =
      value === undefined ? '' : classOf(placeOf(method(), value));
  }
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
// tokensIn are the tokens of the text that a fold has.
function tokensIn(texts, fold) {
  const first = texts.findIndex(({element}) => element === fold.querySelector('span,u'));
  return range(first, first + fold.querySelectorAll('span,u').length);
}

// The matrix of a method, and a line of the chosen row for each method.

function drawMatrix(view) {
  const {data, find, columns, method, row, source, rowCount, rowName} = view;
  const table = find('matrix'), shown = method();
  table.className = 'hm-matrix' + (rowCount > 16 ? ' hm-tall' : '');
  table.style.setProperty('--cols', columns.length);
  table.replaceChildren(columnWidths(columns, 'hm-label'), header(view, true), matrixBody(view));
  find('readout').parentElement.querySelector('.hm-h').replaceChildren('All ' + data.shown + ' ',
    make('span', {textContent: '· ' + [shown.name, shown.layer].join(', ')}));
  for (const line of table.querySelectorAll('tbody tr')) {
    const at = Number(line.dataset.i);
    line.className = at === row() && source() < 0 ? 'hm-here' : '';
    nameLine(line, rowName(at), shown, at);
  }
  drawLegend(view);
}
function matrixBody(view) {
  const {data, row, rowCount, method} = view;
  const most = rowCount - rowsAtOnce;
  const from = most > 0 ? Math.min(Math.max(row() - rowsAtOnce / 2, 0), most) : 0;
  const chanceOf = (at) => data.chances[at] === null ? '' : percent(data.chances[at]);
  return make('tbody', {
    innerHTML: range(from, Math.min(from + rowsAtOnce, rowCount)).map((at) =>
      '<tr data-i="' + at + '"><th scope="row"></th>' + cellsOf(view, method(), at) +
      '<td class="hm-chance">' + chanceOf(at) + '</td></tr>').join(''),
  });
}
// nameLine writes the texts of a line, which no markup has: its name, and why it has no values.
function nameLine(line, name, method, row) {
  line.querySelector('th').textContent = name;
  const note = line.querySelector('.hm-note');
  if (note) note.textContent = method.silent[row] || method.wrong || '';
}
function drawStrip(view) {
  const {data, find, columns, methods, method, row, rowName, strongestOf, agreement} = view;
  if (methods.length < 3 || !find('strip')) return;
  const table = find('strip');
  find('strip-title').replaceChildren(bold(rowName(row())),
    data.compared ? ' in A, in B, and A − B ' : ' by every method ', make('span', {
      textContent: data.compared ? '· on one scale' :
        '· each line on its own scale' + agreement(row()),
    }));
  table.style.setProperty('--cols', columns.length);
  const limitOf = (each) => each.kind === 'lift' || data.compared ? 0 :
    strongestOf(each, row()) * each.limit;
  const body = make('tbody', {
    innerHTML: methods.map((each, i) =>
      '<tr data-k="' + i + '"' + (each === method() ? ' class="hm-here"' : '') +
      '><th scope="row"></th>' + cellsOf(view, each, row(), limitOf(each)) + '</tr>').join(''),
  });
  table.replaceChildren(columnWidths(columns, 'hm-name'), header(view, false), body);
  [...body.rows].forEach((line, i) => nameLine(line, methods[i].name, methods[i], row()));
}
function columnWidths(columns, label) {
  const group = make('colgroup', {});
  const widths = columns.map(({gap}) => make('col', {className: gap ? 'hm-gap' : ''}));
  group.append(make('col', {className: label}), ...widths);
  if (label === 'hm-label') group.append(make('col', {className: 'hm-chance'}));
  else group.firstChild.style.width = '128px';
  return group;
}
// header names the columns. With bands, a line over the names has who speaks.
function header(view, bands) {
  const {data, columns, names, roles, source, labelOf, isFirstGenerated} = view;
  const head = make('thead', {}), line = make('tr', {});
  line.append(make('th', {}), ...columns.map((column, i) => {
    const {tokens: [first], gap} = column;
    const cell = make('th', {
      className: (isFirstGenerated(column) ? 'hm-first ' : '') +
        (column.tokens.includes(source()) ? 'hm-source' : ''),
    });
    cell.dataset.c = i;
    const faint = gap || roles[first] === 't' || !/[^␣↵⇥]/.test(names[first]);
    const name = !gap && data.heads?.[first] || labelOf(column);
    cell.append(make('div', {textContent: name, className: faint ? 'hm-faint' : ''}));
    return cell;
  }));
  if (bands) {
    line.append(make('th', {textContent: 'p', className: 'hm-chance'}));
    head.append(speakers(view));
  }
  head.append(line);
  return head;
}
// speakers returns the line that tells who speaks, where there is room for it.
function speakers({data, columns, promptCount, roles, turnOf}) {
  const speakerOf = ({tokens, gap}) => {
    if (data.positions) return turnOf(tokens[0])[0];
    if (tokens[0] >= promptCount) return 'generated';
    return gap && roles[tokens[0]] !== 'p' ? '' : turnOf(last(tokens))[0] || data.given;
  };
  const spans = [];
  for (const column of columns) {
    const name = speakerOf(column);
    if (spans.length && last(spans).name === name) last(spans).count++;
    else spans.push({name, count: 1});
  }
  const line = make('tr', {className: 'hm-band'});
  line.append(make('th', {}), ...spans.map(({name, count}) =>
    make('th', {textContent: count > 3 ? name : '', colSpan: count})), make('th', {}));
  return line;
}
// cellsOf returns the cells of a row as markup, which has numbers and classes alone.
function cellsOf(view, method, row, limit) {
  const {data, columns, promptCount, has, isGrey, valueIn, isFirstGenerated} = view;
  if (!has(method, row)) return '<td class="hm-note" colspan="' + columns.length + '"></td>';
  const withNumbers = columns.length <= 24;
  return columns.map((column, i) => {
    const {tokens, gap} = column, [token] = tokens;
    const value = valueIn(method, row, tokens, gap), at = '" data-c="' + i + '">';
    const first = isFirstGenerated(column) ? ' hm-first' : '';
    if (value === undefined) return '<td class="' + first + '"></td>';
    if (tokens.length === 1 && isGrey(method, row, token)) {
      const target = data.targets && token === promptCount + row;
      const number = withNumbers && !target && !data.hidden.includes(token);
      return '<td class="hm-sink' + first + at + (number ? inCell(method, value) : '') + '</td>';
    }
    const step = classOf(placeOf(method, value, limit));
    if (gap) return '<td class="hm-gap' + at + (step && '<i class="' + step + '"></i>') + '</td>';
    const number = withNumbers && step ? '<b>' + inCell(method, value) + '</b>' : '';
    return '<td class="' + (step || 'hm-z') + first + at + number + '</td>';
  }).join('');
}
// drawLegend names where each step of the scale begins, and what rows and columns are.
function drawLegend({data, find, columns, method}) {
  const columnsAre = columns.some(({gap}) => gap) ?
    ' · dotted: folded, coloured by the strongest inside' : ' · columns: where they came from';
  find('legend').replaceChildren(...legendOf(method()), make('span', {
    textContent: ' · rows: ' + data.shown + columnsAre,
  }));
}

// Beside the matrix: what could have come, and the layers.

function drawSide(view) {
  const {data, find, method, row, source, given, has, rowName} = view;
  const parts = [], others = data.alternatives[row()];
  if (source() >= 0) {
    parts.push(barsOf('What it gave', method().unit, given(method()).slice(0, 10).map(
      ([place, at, value]) => ({
        name: rowName(at), part: Math.abs(place), number: format(method(), value, at),
        step: classOf(place),
      }))));
  } else {
    if (others) {
      parts.push(barsOf(data.others, data.chance, others.map(([name, chance, came]) => ({
        name, part: chance / others[0][1], number: percent(chance), step: '', came,
      }))));
    }
    if (has(method(), row())) parts.push(layersOf(view));
  }
  find('side').replaceChildren(...parts);
}
// titled returns a box with its title and a note to it.
function titled(title, note, content) {
  const box = make('div', {}), heading = make('div', {className: 'hm-h', textContent: title + ' '});
  heading.append(make('span', {textContent: note}));
  box.append(heading, content);
  return box;
}
function barsOf(title, unit, bars) {
  const grid = make('div', {className: 'hm-alternatives'});
  for (const {name, part, number, step, came} of bars) {
    const bar = make('i', {className: step});
    bar.style.width = (100 * part).toFixed(1) + '%';
    grid.append(make('span', {textContent: name, className: came ? 'hm-me' : ''}), bar,
      make('span', {textContent: number}));
  }
  return titled(title, '· ' + unit, grid);
}
// layersOf returns the strongest sources of the row, with what every layer gave or has.
function layersOf(view) {
  const {names, promptCount, method, row, ranked, bySize} = view;
  const shown = method(), at = row();
  let list = ranked(shown, at).sort(bySize).map(([, token]) => ({token}));
  let layerCount = 0, limit = 1, title = 'Strongest sources';
  let note = shown.more ? '· every layer: ' + shown.more : '';
  if (shown.parts) {
    const before = shown.strongest.slice(0, at).reduce((sum, {length}) => sum + length, 0);
    list = shown.strongest[at].map((token, i) => ({token, parts: shown.parts[before + i]}));
    layerCount = shown.layerNames.length;
    limit = Math.max(smallest, ...list.flatMap(({parts}) => parts).map(
      (value) => shown.kind === 'lift' ? 0 : Math.abs(value)));
    title = 'Layer by layer';
    note = '· ' + (shown.byLayer ? 'its part' :
      shown.combined ? 'up to each layer' : 'each layer alone') +
      ', up to ' + format(shown, limit, at);
  }
  const widths = make('colgroup', {}), body = make('tbody', {});
  widths.append(...range(0, (layerCount || 1) + 2).map(() => make('col', {})));
  widths.firstChild.style.width = '88px';
  widths.lastChild.style.width = '50px';
  for (const {token, parts} of list.slice(0, 8)) {
    const line = make('tr', {}), name = make('th', {scope: 'row', textContent: names[token]});
    const where = token < promptCount ? token : 'g' + (token - promptCount + 1);
    name.append(make('span', {className: 'hm-faint', textContent: ' ' + where}));
    const value = shown.values[at][token];
    const cells = parts ? parts.map(
      (part) => make('td', {className: classOf(placeOf(shown, part, limit)) || 'hm-z'})) :
      [barCell(placeOf(shown, value))];
    line.append(name, ...cells,
      make('td', {className: 'hm-sum', textContent: format(shown, value, at)}));
    body.append(line);
  }
  const table = make('table', {className: 'hm-layers'});
  table.append(widths, body);
  if (layerCount > 3) table.append(layerTicks(shown.layerNames));
  return titled(title, note, table);
}
function barCell(place) {
  const cell = make('td', {}), bar = make('i', {className: classOf(place)});
  bar.style.cssText = 'display:block;height:12px;width:' + (100 * Math.abs(place)).toFixed(1) + '%';
  cell.append(bar);
  return cell;
}
// layerTicks returns a line below the layers that names four of them.
function layerTicks(layerNames) {
  const foot = make('tfoot', {}), line = make('tr', {}), end = layerNames.length - 1;
  const ticks = [0, 1, 2, 3].map((third) => third < 3 ?
    Math.round(third * (end + 1) / 3) : end);
  const cells = ticks.map((tick, i) => make('td', {
    colSpan: i < 3 ? ticks[i + 1] - tick : 2, textContent: layerNames[tick],
  }));
  line.append(make('th', {scope: 'row', textContent: 'layer'}), ...cells);
  foot.append(line);
  return foot;
}

// The controls: what is over the matrix, and what a reader does.

// drawReadout writes what the pointer is on, or the strongest source of the row.
function drawReadout(view, pointedRow, pointedColumn) {
  const {data, find, columns, names, promptCount, method, row, source} = view;
  const {has, isGrey, valueIn, ranked, members, rowName, labelOf, whereIs, around} = view;
  const shown = method(), [best] = ranked(shown, row()), readout = find('readout');
  const at = pointedRow === undefined ? row() : pointedRow;
  let column = pointedColumn;
  if (!column && source() >= 0) column = {tokens: members(source())};
  else if (!column && best) column = columns.find(({tokens}) => tokens.includes(best[1]));
  if (!column || !has(shown, at)) {
    readout.replaceChildren(bold(rowName(at)),
      ' · ' + (shown.silent[at] || shown.wrong || 'nothing stands out'));
    return;
  }
  const {tokens, gap} = column, value = valueIn(shown, at, tokens, gap);
  const token = gap && tokens.find((each) => shown.values[at][each] === value) || tokens[0];
  if (value === undefined) {
    readout.replaceChildren(bold(labelOf(column)), ' · ' + whereIs(token));
    return;
  }
  const notes = [format(shown, value, at), whereIs(token)];
  if (promptCount > 30 && !data.positions && !gap) notes.push(around(token));
  if (gap) notes.push('the strongest of ' + tokens.length + ' folded tokens, click to unfold');
  else if (isGrey(shown, at, token)) notes.push('not in the scale');
  if (data.chances[at] !== null) notes.push('p ' + percent(data.chances[at]));
  readout.replaceChildren(bold(rowName(at)), ' ← ', bold(gap ? names[token] : labelOf(column)),
    ' ' + notes.join(' · '));
}
function drawSwitches({root, choice}) {
  for (const button of root.querySelectorAll('.hm-switch')) {
    const {group, set} = button.dataset;
    button.setAttribute('aria-checked', group ? choice.group === group : Boolean(choice[set]));
  }
}
// reveal scrolls the matrix so that the column of a token is in view.
function reveal({find, columns}, token) {
  const box = find('scroll'), i = columns.findIndex(({tokens}) => tokens.includes(token));
  const name = box.querySelector('th[data-c="' + i + '"]');
  if (name && name.offsetLeft > box.clientWidth * 0.8) {
    box.scrollLeft = name.offsetLeft - box.clientWidth / 2;
  }
}
// countHidden tells how many columns are to the right of what is in view.
function countHidden({find}) {
  const box = find('scroll'), right = box.getBoundingClientRect().right - 12;
  const hidden = [...box.querySelectorAll('thead th[data-c]')]
    .filter((name) => name.getBoundingClientRect().left > right).length;
  find('more').hidden = !hidden;
  find('more').firstChild.textContent = hidden + ' more →';
}
// addParts adds the elements that the script alone draws in.
function addParts(view) {
  const {find, methods} = view, after = find('after');
  if (methods.length > 2) {
    const box = make('div', {className: 'hm-scrolls'});
    box.append(make('table', {className: 'hm-strip'}));
    after.append(make('div', {className: 'hm-h hm-strip-title'}), box);
  }
  const hold = make('div', {className: 'hm-hold'}), inner = make('div', {});
  const scroll = make('div', {className: 'hm-scroll'});
  const more = make('div', {className: 'hm-more', hidden: true});
  more.append(make('button', {
    type: 'button', onclick: () => scroll.scrollBy({left: 260, behavior: 'smooth'}),
  }));
  inner.style.position = 'relative';
  inner.append(make('table', {className: 'hm-matrix'}),
    make('div', {className: 'hm-cross', hidden: true}));
  scroll.append(inner);
  hold.append(scroll, more);
  after.append(switchesOf(view), hold, make('div', {className: 'hm-legend'}));
}
// switchesOf returns the line over the matrix: its title, the switches and the readout.
function switchesOf({data, choice, roles, go}) {
  const bar = make('div', {className: 'hm-bar'});
  bar.append(make('div', {className: 'hm-h'}));
  const add = (textContent, dataset, onclick) => {
    const button = make('button', {type: 'button', className: 'hm-switch', textContent, onclick});
    Object.assign(button.dataset, dataset);
    button.setAttribute('role', 'switch');
    bar.append(button);
  };
  const groups = {words: 'whole words', sentences: 'sentences', turns: 'turns'};
  for (const [group, text] of Object.entries(groups)) {
    if (!data.groups[group]) continue;
    add(text, {group}, () => go({group: choice.group === group ? '' : group}));
  }
  if (data.turns.length > 1 && roles.includes('t') && data.chat) {
    add('template tokens', {set: 'template'}, () => go({template: !choice.template}));
  }
  if (data.columns.some(([, , folded]) => folded)) {
    add('unfold all', {set: 'all'}, () => go({all: !choice.all, unfolded: []}));
  }
  bar.append(make('div', {className: 'hm-readout'}));
  bar.lastChild.style.flexBasis = '100%';
  return bar;
}
// answerTo listens to clicks, to the pointer over the matrix, and to keys.
function answerTo(view) {
  const {root, find} = view, table = find('matrix'), cross = find('cross');
  root.addEventListener('click', (event) => clicked(view, event));
  table.addEventListener('pointerover', ({target}) => {
    const cell = target.closest('[data-c]'), line = target.closest('[data-i]');
    cross.hidden = !cell;
    if (!cell) return drawReadout(view);
    cross.style.left = cell.offsetLeft + 'px';
    cross.style.width = cell.offsetWidth + 'px';
    drawReadout(view, line ? Number(line.dataset.i) : undefined, view.columns[cell.dataset.c]);
  });
  table.addEventListener('pointerleave', () => {
    cross.hidden = true;
    drawReadout(view);
  });
  root.addEventListener('keydown', (event) => pressed(view, event));
  root.setAttribute('data-lm-suppress-shortcuts', 'true');
  find('scroll').addEventListener('scroll', () => countHidden(view));
  new ResizeObserver(() => countHidden(view)).observe(root);
}
function clicked({texts, columns, choice, methods, row, source, rowAt, go}, event) {
  const at = (query) => event.target.closest(query);
  const toggleSource = (token) => go({source: source() === token ? -1 : token});
  const unfold = (tokens) => go({unfolded: [...choice.unfolded, ...tokens]});
  const text = at('.hm-text :is(span,u)'), cell = at('.hm-matrix [data-c]') || at('th[data-c]');
  const column = cell && columns[cell.dataset.c];
  const token = texts.findIndex(({element}) => element === text);
  const ownRow = rowAt(token), line = at('.hm-matrix [data-i]'), other = at('.hm-strip [data-k]');
  if (token >= 0 && !String(getSelection())) {
    const again = ownRow === row() && source() < 0;
    if (ownRow >= 0 && !event.shiftKey && !again) go({row: ownRow, source: -1});
    else toggleSource(token);
  } else if (at('.hm-text summary')) {
    event.preventDefault();
    unfold(tokensIn(texts, at('details')));
  } else if (column && column.gap) unfold(column.tokens);
  else if (at('th[data-c]')) toggleSource(column.tokens[0]);
  else if (line) go({row: Number(line.dataset.i), source: -1});
  else if (other) go({method: methods[other.dataset.k].name});
}
// pressed answers a key: left and right go to another row, up and down to another method.
function pressed({rowCount, methods, method, row, go}, event) {
  const steps = {
    ArrowLeft: [-1, 0], ArrowRight: [1, 0], Home: [-Infinity, 0], End: [Infinity, 0],
    ArrowUp: [0, -1], ArrowDown: [0, 1], Escape: [0, 0],
  }[event.key];
  const held = event.altKey || event.ctrlKey || event.metaKey;
  if (!steps || held || event.target.closest('.hm-scroll')) return;
  event.preventDefault();
  event.stopPropagation();
  const next = methods.indexOf(method()) + steps[1] + methods.length;
  go({
    source: -1, row: clamp(row() + steps[0], rowCount), method: methods[next % methods.length].name,
  });
}

begin('.hm-heatmap', start);
