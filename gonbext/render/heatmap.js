// Adds touch to a heatmap that is complete without it. It draws the parts that need room or a
// choice: the matrix of one method with its folded columns, the list that takes its place where it
// has no room, and the tables of the details. Sentences come from the lines that the picture has.
// All text is set as text, never as markup. heatmapdata.go describes the data. common.js, scale.js,
// matrix.js, which has the words for tokens and rows, and scores.js stand before it.

// rowsAtOnce is how many rows the matrix has at most; the others are reached by keys.
const rowsAtOnce = 200;
// mostColumns is how many columns the matrix has at most: no page has room for more.
const mostColumns = 600;
// smallest is the strongest place of a row without values: nothing is divided by 0.
const smallest = 1e-9;

// readingOf returns what can be read of the data at a choice, without the page.
function readingOf(data, choice) {
  const {n: rowCount, names, roles, methods} = data;
  const text = textReading(
    data, choice, () => namedOf(method(), row()).filter((token) => roles[token] === 'p'));
  const {promptCount} = text;
  const method = () =>
    methods.find(({name}) => name === (choice.method || data.lead)) || methods[0];
  const row = () => choice.row < rowCount ? choice.row : data.chosen;
  // source is the token of which a reader asks what it gave, -1 if where a row came from is shown.
  const source = () => choice.source < names.length ? choice.source : -1;

  // The rows of a method.
  const has = (method, row) => method.values && row < method.has && !method.silent[row];
  const isGrey = (method, row, token) => method.grey.has(token) ||
    method.sinks && method.sinks[row] === token || data.targets && token === promptCount + row;
  // valueIn is the strongest value of tokens together.
  function valueIn(method, row, tokens) {
    let best;
    for (const token of tokens) {
      const value = method.values[row][token];
      if (value === undefined || tokens.length > 1 && isGrey(method, row, token)) continue;
      if (best === undefined || sizeIn(method, value) > sizeIn(method, best)) best = value;
    }
    return best;
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
    .map((row) => [row, method.values[row][source()]])
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
  const rowName = (row) => data.rowNames ? data.rowNames[row] : names[tokenOf(row)];
  return {
    ...text, rowCount, methods, method, row, source, has, isGrey, valueIn, sizeIn, strongestOf,
    namedOf, given, tokenOf, rowAt, rowName,
  };
}

// start draws what the page has and, at a switch, the finer picture in its place.
function start(root, data) {
  const body = root.querySelector('.hm-body');
  const both = [{markup: body.innerHTML, data}, ...data.finer ? [data.finer] : []];
  const units = choices(data.id + ' units', root, {at: 0});
  let drawn = 0;
  const show = (at) => {
    if (at !== drawn) body.innerHTML = both[at].markup;
    units.at = drawn = at;
    run(root, readingOf(prepared(both[at].data), choices(both[at].data.id, root, {
      unfolded: [], open: {},
    })), {both, units, show});
  };
  show(within(units.at, both.length, 0));
}
// prepared unpacks the values of methods.
function prepared(data) {
  for (const method of data.methods) {
    method.grey = new Set(method.grey);
    method.silent = method.silent || {};
    if (method.rows) {
      method.values = range(0, data.n).map(
        (row) => row < method.has ? numbersIn(method.rows[row]) : []);
    }
  }
  return data;
}

// run draws a picture and answers what a reader does. The view that the parts below are given has,
// beside that of viewOf, the matrix and the list, and go, which draws everything after a change of
// the choice.
function run(root, reading, {both, units, show}) {
  const {data, choice, method, methods, source, row, rowAt, rowCount} = reading;
  const view = Object.assign(viewOf(root, reading), {
    go, unfolds: true, isFirstGenerated: () => false,
  }), {find} = view;
  function go(change) {
    Object.assign(choice, change);
    view.columns = reading.columnsNow();
    root.classList.toggle('hm-difference', Boolean(method().difference));
    drawTabs(find('tabs'), methods, methods.indexOf(method()), chooseMethod);
    drawTabs(find('units'), [{name: 'words'}, {name: 'tokens'}], units.at,
      (at) => at !== units.at && show(at));
    find('units').hidden = both.length < 2;
    [drawAnswer, drawText, drawScores, drawLinks, drawMatrix, drawList, drawTables].forEach(
      (draw) => draw(view));
    drawSwitches(root);
    drawReadout(view);
  }
  const chooseMethod = (i) => go({method: methods[i].name});
  const toggleSource = (token) => go({source: source() === token ? -1 : token});
  const chooseRow = (at) => go({row: at, source: -1});
  addParts(view, chooseRow, (at, i) => {
    if (at >= 0) chooseRow(at);
    else if (i >= 0) toggleSource(view.columns[i].tokens[0]);
  });
  onText(view, (token, shift) => {
    const at = rowAt(token), again = at === row() && source() < 0;
    if (at >= 0 && !shift && !again) chooseRow(at);
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
  liven(root, data, choice, menuOf(view));
  go({});
}

// The answer: sentence and text.

// drawAnswer writes the sentence and the facts of the row, from its line below the picture.
function drawAnswer(view) {
  const {find, names, methods, method, row, source, namedOf, rowName, lines} = view;
  const facts = find('facts'); // its room stays, and where it opens with none it has that of a line
  if (!facts.style.minHeight) {
    facts.classList.toggle('hm-none', !facts.offsetHeight);
    facts.style.minHeight = (facts.offsetHeight || 24) + 'px';
  }
  if (source() >= 0) return drawGiven(view);
  const line = (lines[methods.indexOf(method())] || [])[row()];
  if (line) {
    ['say', 'facts', 'how'].forEach((part, i) => {
      find(part).replaceChildren(...line.children[i].cloneNode(true).childNodes);
    });
    return;
  }
  const best = namedOf(method(), row()).slice(0, 3).map((token) => names[token]);
  find('say').replaceChildren(bold(rowName(row())), ': ' + (best.join(', ') || 'nothing'));
  find('facts').replaceChildren(method().unit);
}
// drawGiven writes what a source gave to each row, in place of where a row came from.
function drawGiven(view) {
  const {data, find, names, method, row, source, given, rowName, whereIs, go} = view;
  const say = find('say'), rows = given(method()).filter(([place]) => place > 0).slice(0, 3);
  say.replaceChildren(bold(names[source()]));
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
  const {method, row, source, has, valueIn, strongestOf, namedOf, tokenOf} = view;
  const strongest = strongestOf(method(), row()), most = method().difference ? 1 : strongest;
  const named = namedOf(method(), row()).slice(0, method().said?.[row()]);
  const framed = source() < 0 ? [tokenOf(row())] : [source()];
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
  const {method, row, source, has, isGrey, rowAt} = view;
  const at = source() < 0 ? row() : rowAt(token), from = source() < 0 ? token : source();
  if (at < 0 || !has(method(), at) || isGrey(method(), at, from)) return 0;
  const value = method().values[at][from];
  const place = value === undefined ? 0 : placeOf(method(), value);
  return source() < 0 && Math.abs(place) < least ? 0 : place;
}

// The matrix and the list.

// rowsOf are the rows that the matrix and the list have: around the chosen one, if there are more
// than rowsAtOnce.
function rowsOf({row, rowCount, tokenOf, isListed}) {
  const from = Math.min(Math.max(row() - rowsAtOnce / 2, 0), Math.max(rowCount - rowsAtOnce, 0));
  return range(from, Math.min(from + rowsAtOnce, rowCount)).filter(
    (at) => at === row() || isListed(tokenOf(at)));
}
const isScored = ({chances}) => chances.some(Boolean);
// sourceEnd returns the end of a row of which a part comes from the source, if that is known.
const sourceEnd = (part) => part === undefined ? '' : {text: percent(part), part};
// endsOf are the texts at the end of a row.
const endsOf = ({data}, method, at) => (method.source ?
  [sourceEnd(contributionOf(method, at))] : []).concat(isScored(data) ? data.chances[at] : []);
function drawMatrix(view) {
  const {root, data, find, columns, row, source, rowName, tokenOf, namedOf, matrix} = view;
  const shown = view.method(), rows = rowsOf(view), bands = grouped(view);
  const hasRoom = columns.length <= mostColumns;
  const named = source() < 0 ? namedOf(shown, row()) : [source()];
  const last = [...shown.source ? ['from source'] : [], ...isScored(data) ? ['p'] : []];
  fillTable(matrix, hasRoom ? view : {...view, columns: []}, !hasRoom ? [] : rows.map((at) => ({
    key: at, name: rowName(at), here: at === row() && source() < 0,
    faint: data.sorts[tokenOf(at)] === 'f',
    cells: cellsOf(view, shown, at), note: shown.silent[at] || shown.wrong || '',
    ends: endsOf(view, shown, at),
  })), {
    bands: hasRoom && bands, last, marked: ({tokens, gap}) => !gap && named.includes(tokens[0]),
  });
  // The names of rows have the room of the longest word, the columns share the rest, and where that
  // is not 12 px and a space for each the list takes the place of the matrix.
  const pen = make('canvas').getContext('2d');
  pen.font = 'bold 13px ' + getComputedStyle(root).fontFamily;
  const width = Math.ceil(Math.max(46, Math.min(124,
    10 + Math.max(0, ...rows.map((at) => pen.measureText(rowName(at)).width)))));
  const ends = last.length * (parseFloat(matrix.table.style.getPropertyValue('--end')) || 53);
  const spaces = 9 * columns.filter(({begins}) => begins).length;
  find('after').style.setProperty('--name', width + 'px');
  matrix.table.style.setProperty('--fix', width + 2 + ends + spaces + 'px');
  const least = Math.ceil(width + 22 + ends + spaces + 13 * columns.length);
  drawLegend(view);
  if (root.dataset.least === String(least)) return;
  root.dataset.least = least;
  const here = 'px){.hm[data-least="' + least + '"] .hm-';
  if (!root.hwRoom) root.querySelector('style').append(root.hwRoom = new Text());
  root.hwRoom.data = ['(max-width:' + (least - 1) + here + 'wide', '(min-width:' + least + here +
    'narrow'].map((rule) => '@container' + rule + '{display:none}}').join('');
}
// drawList draws for each row its strongest sources. Those of the answer are underlined.
function drawList(view) {
  const {data, row, source, rowName, tokenOf, promptCount, names, has, list} = view;
  const shown = view.method();
  list.replaceChildren(...rowsOf(view).map((at) => {
    const line = make('div', {className: at === row() && source() < 0 ? 'hm-here' : ''},
      make('span', {textContent: rowName(at)}), make('span', {}, ...has(shown, at) ?
        chipsOf(view, shown, at).map(([token, place]) => make('span', {
          className: classOf(place),
        }, make(token >= promptCount && token !== tokenOf(at) ? 'u' : 'span', {},
          data.columnNames?.[token] || names[token]),
        ' ' + (inCell(shown, shown.values[at][token]) || '0'))) :
        [quiet(shown.silent[at] || shown.wrong || '')]),
      make('span', {}, endsOf(view, shown, at).map((end) => end.text ?? end).join(' · ')));
    line.dataset.i = at;
    return line;
  }));
}
// chipsOf returns the sources that a row of the list has, with their places on the scale: those of
// the second step and a quarter of the strongest, at most three, or else the strongest.
function chipsOf({data, isGrey, isListed}, method, row) {
  const all = range(0, data.sources).filter((token) => isListed(token) &&
    !isGrey(method, row, token) && method.values[row][token] !== undefined)
    .map((token) => [token, placeOf(method, method.values[row][token])])
    .filter(([, place]) => classOf(place))
    .sort(([, a], [, b]) => Math.abs(b) - Math.abs(a));
  const least = Math.max(stepsAt[1], Math.abs(all[0]?.[1]) / 4);
  return all.filter(([, place], i) => i < 3 && (!i || Math.abs(place) >= least));
}
// cellsOf returns the cells of a row, '' if it has no values.
function cellsOf(view, method, row) {
  const {data, columns, promptCount, has, isGrey, valueIn} = view;
  return has(method, row) ? columns.map(({tokens}, i) => {
    const value = valueIn(method, row, tokens);
    if (value === undefined) return cellOf(view, i);
    const grey = tokens.length === 1 && isGrey(method, row, tokens[0]);
    const named = !data.hidden.includes(tokens[0]) &&
      !(data.targets && tokens[0] === promptCount + row);
    return cellOf(view, i, {
      step: classOf(placeOf(method, value)), grey,
      number: grey && !named ? '' : inCell(method, value),
    });
  }).join('') : '';
}
// drawLegend names where each step of the scale begins: below the neutral value as far as they
// occur.
function drawLegend(view) {
  const {data, find, columns, names, whereIs, has, isGrey, rowCount} = view, shown = view.method();
  const lowest = range(0, rowCount).reduce((least, at) => !has(shown, at) ? least :
    shown.values[at].reduce((low, value, token) => isGrey(shown, at, token) ? low :
      Math.min(low, placeOf(shown, value)), least), 0);
  const parts = legendOf(shown, stepsAt.filter((least) => -lowest >= least).length);
  const sinks = [...shown.grey].filter((token) => !data.hidden.includes(token) &&
    columns.some(({tokens, gap}) => !gap && tokens[0] === token));
  last(parts).append(
    data.begins === undefined ? '' : '\u00a0· ' + names[data.begins] + ': ' +
    whereIs(data.begins), sinksNote(names, sinks));
  find('legend').replaceChildren(...parts);
}

// The details: tables of what wrote the word, of its test, and of what could have come.

// tableOf returns a table of names, where they stand, and numbers; the last line may be a sum.
const tableOf = (title, note, rows) => titled(title, note, make('table', {}, make('tbody', {},
  ...rows.map(([name, where, number, sum]) => make('tr', {className: sum ? 'hm-sum' : ''},
    make('td', {}, name, make('span', {className: 'hm-faint'}, where ? ' ' + where : '')),
    make('td', {textContent: number}))))));
function drawTables(view) {
  const {data, find, method, row, source, given, has, rowName, names} = view, shown = method();
  const tables = [], sides = data.alternatives.map((side) => side && side[row()]);
  if (source() >= 0) {
    tables.push(tableOf('What ' + names[source()] + ' gave', shown.unit, given(shown).slice(
      0, 10).map(([, at, value]) => [rowName(at), '', format(shown, value, at)])));
  } else if (has(shown, row())) {
    tables.push(tableOf('What wrote ' + rowName(row()), shown.unit, partsOf(view, shown, row())));
  }
  const test = shown.tests?.[row()];
  if (test) tables.push(tableOf('The test', '', test.map(([name, number]) => [name, '', number])));
  sides.forEach((others, side) => others && tables.push(tableOf(
    data.others + (sides.length > 1 ? ' in ' + 'AB'[side] : ''), data.chance, others.map(
      ([name, chance, came]) => [came ? bold(name) : name, '', percent(chance)]))));
  find('tables').replaceChildren(...tables);
}
// partsOf returns what a row is made of: its strongest sources and, where values add up, the sums
// of the others, what the values leave out, and the whole.
function partsOf({data, names, roles, tokenOf, isGrey, whereIs, sizeIn}, method, row) {
  const values = method.values[row], own = data.positions ? -1 : tokenOf(row), sums = {};
  const written = (value) => format(method, value, row), {words} = data;
  const kindOf = (token) => isGrey(method, row, token) ? 'sinks and what is not in the scale' :
    own >= 0 && words[token] === words[own] ? 'earlier parts of the word itself' :
      'te'.includes(roles[token]) ? 'marks of the template' :
        data.sorts[token] === 'm' ? 'punctuation and blanks' : '';
  const kinds = values.map((_, token) => kindOf(token));
  const ranked = range(0, values.length).filter((token) => !Number.isNaN(values[token]) &&
    (data.whole ? !kinds[token] : !isGrey(method, row, token))).sort(
    (a, b) => sizeIn(method, values[b]) - sizeIn(method, values[a]));
  const lines = ranked.slice(0, 7).map(
    (token) => [names[token], whereIs(token), written(values[token])]);
  if (method.maximum || method.difference || method.kind === 'lift') return lines;
  ranked.slice(0, 7).forEach((token) => { kinds[token] = 'named'; });
  const others = kinds.filter((kind) => !kind).length, othersAre = others + ' other ' + data.units;
  kinds.forEach((kind, token) => {
    sums[kind || othersAre] = (sums[kind || othersAre] || 0) + values[token];
  });
  delete sums.named;
  const whole = method.whole?.[row] ?? undefined, all = values.reduce((a, b) => a + b, 0);
  if (whole !== undefined) sums['the rest of the model'] = whole - all;
  const rest = [othersAre, ...Object.keys(sums).filter((kind) => kind !== othersAre)]
    .filter((kind) => kind in sums);
  return [...lines, ...rest.map((kind) => [kind, '', written(sums[kind])]),
    ['all together' + (whole === undefined ? '' : ': ' + method.wholeIs), '',
      written(whole ?? all), true]];
}

// The controls: what is over the matrix, and what a reader does.

// drawReadout writes what the pointer is on.
function drawReadout(view, row, i) {
  const {data, readout, columns, wordOf, method, source} = view;
  const {has, isGrey, valueIn, rowName, labelOf, whereIs, placed} = view, shown = method();
  const column = columns[i] || source() >= 0 && {tokens: [source()]};
  if (row === undefined && !columns[i] || !column) return readout.replaceChildren();
  const {tokens, gap} = column, value = row >= 0 && has(shown, row) ?
    valueIn(shown, row, tokens) : undefined;
  const token = value !== undefined && gap && tokens.find(
    (each) => shown.values[row][each] === value) || tokens[0];
  if (value === undefined) {
    return readout.replaceChildren(bold(labelOf(column)), ' · ' + whereIs(token));
  }
  const notes = [format(shown, value, row), ...placed(column, token)];
  if (!gap && isGrey(shown, row, token)) notes.push('not in the scale');
  if (data.chances[row]) notes.push('p ' + data.chances[row]);
  write(readout, [[rowName(row), 'b'], ' ← ', ...wordOf(token), ' ' + notes.join(' · ')]);
}
// addParts adds the elements that the script alone draws in: the heading with its switches, the
// matrix and the list, of which one has room, the legend, and the tables of the details.
function addParts(view, chooseRow, clickMatrix) {
  const {data, find, methods} = view;
  const title = make('div', {className: 'hm-h'}, data.title + ' ', ...data.notes.map(
    (note, i) => make('span', {className: i ? 'hm-narrow' : 'hm-wide', textContent: note})));
  view.matrix = tablePart(
    view, 'hm-matrix hm-rows', (row, column) => drawReadout(view, row, column), clickMatrix);
  view.matrix.hold.classList.add('hm-wide');
  view.list = make('div', {
    className: 'hm-list hm-narrow', onclick: ({target}) => {
      const line = target.closest('[data-i]');
      if (line) chooseRow(Number(line.dataset.i));
    },
  });
  view.readout = make('div', {className: 'hm-readout'});
  const tabs = ['tabs', 'units'].map(
    (name) => make('div', {className: 'hm-' + name, role: 'tablist', ariaLabel: name}));
  tabs[0].hidden = methods.length < 2;
  find('after').append(make('div', {className: 'hm-bar hm-heading'}, title,
    make('div', {className: 'hm-tools'}, ...tabs)), view.matrix.hold, view.list,
  make('div', {className: 'hm-legend'}), view.readout);
  find('details').querySelector('summary').after(make('div', {className: 'hm-tables'}));
  addScores(view);
}
// menuOf returns the switches of the menu.
function menuOf({data, choice, roles, go}) {
  const switches = [];
  if (!data.whole && roles.includes('t') && data.chat) {
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
