// Adds touch to a board that is complete without it: choosing words of the text and rows, columns
// and cells of the table, and a readout of each cell. boardData in board.go has the fields of
// data, with all sentences. common.js, scale.js and matrix.js stand before it.

// stepIn is the class of a letter of steps: g is none.
function stepIn(letters, i) {
  const step = (letters || '').charCodeAt(i) - 103;
  return step ? (step < 0 ? 'n' + -step : step > 0 ? 'p' + step : '') : '';
}
// readingOf returns what a reader chose, and what the cells of the table have.
function readingOf(data, choice) {
  const {table, opens = []} = data, shares = (table.shares || []).map(numbersIn);
  const at = () => within(choice.at, opens.length, data.at);
  const opened = () => opens[at()] || data.opened;
  const text = textReading(data, choice, () => [opened().token]);
  const column = () => within(choice.column, table.columns.length, opened().column);
  const most = (list, size) => list.reduce((best, one) => size(one) > size(best) ? one : best);
  // partsOf are the parts of a cell of a word, each a name and a share.
  const partsOf = (token, i) => range(0, table.each).map((k) => i * table.each + k)
    .map((at) => [table.parts[token][at], shares[token][at]]).filter(([name]) => name);
  // shownIn is the word of a row whose first share in a column is the largest.
  const shownIn = ({tokens}, i) => most(tokens, (token) => shares[token][i * table.each]);
  const stepOf = (share) => classOf(placeOf(data.scale, share));
  return {...text, table, opens, at, opened, column, partsOf, shownIn, stepOf};
}

function start(root, data) {
  const choice = choices(data.id, root, {unfolded: [], open: {}});
  const reading = readingOf(data, choice), {table, opens, at, opened, column} = reading;
  const view = Object.assign(viewOf(root, reading), {go, rows: []}), {find} = view;
  const tokensOf = ([from, to]) => range(from, to), own = !table.over;
  // grid is the view of the table: of columns of the text, or of names of its own.
  const grid = view.grid = own ? {
    ...view, data: {}, names: table.columns, roles: '', isFirstGenerated: () => false,
    columns: table.columns.map((_, i) => ({tokens: [i]})),
    labelOf: ({tokens: [i]}) => table.columns[i],
  } : {
    ...view, isFirstGenerated: () => false,
    columns: table.over.map((column) => ({tokens: tokensOf(column), gap: column[2]})),
  };
  const pick = (i) => opens.length && go({at: clamp(i, opens.length), column: undefined});
  // indexOf is the opening of a word of the text.
  const indexOf = (token) => opens.findIndex((open) => open.token === token);
  function go(change) {
    Object.assign(choice, change);
    [drawAnswer, drawText, drawTable, drawSide].forEach((draw) => draw(view));
    drawReadout(view);
    drawSwitches(root);
  }
  view.matrix = tablePart(grid, 'hm-matrix' + (table.words ? ' hm-words' : ''),
    (row, i) => drawReadout(view, row, i), (row, i) => {
      if (data.by === 'column') return i >= 0 && pick(i);
      if (data.by === 'row') return row >= 0 && go({at: row === at() ? undefined : row});
      const {tokens, gap} = view.rows[row] || {tokens: [opened().token]};
      if (data.by !== 'word') return;
      go(gap ? {unfolded: [...choice.unfolded, tokens[0]]} :
        {at: indexOf(tokens[0]), column: i === undefined ? choice.column : i});
    });
  view.matrix.bar = barOf(...table.ofWords ? unfoldSwitch(data, choice, go) : []);
  entitle(view.matrix.bar.title, table.title, table.note);
  find('after').append(view.matrix.bar.bar, view.matrix.hold,
    make('div', {className: 'hm-legend'}, ...legendOf(data.scale)));
  onText(view, (token) => {
    const i = data.by === 'column' ? grid.columns.findIndex(({tokens}) => tokens.includes(token)) :
      indexOf(token);
    if (i >= 0 && data.by !== 'row') pick(i);
  });
  onKeys(root, () => {
    const ahead = find('text').dir === 'rtl' && table.ofWords ? -1 : 1;
    const aside = (step) => () => pick(at() + step);
    // Rows begin with the last layer.
    const up = (step) => () => table.ofWords ?
      go({column: clamp(column() + step, table.columns.length)}) : data.by === 'row' &&
        pick(at() < 0 ? (step > 0 ? opens.length - 1 : 0) : at() - step);
    return {
      ...data.by !== 'row' && {
        ArrowLeft: aside(-ahead), ArrowRight: aside(ahead), Home: () => pick(0),
        End: () => pick(Infinity),
      },
      ArrowUp: up(1), ArrowDown: up(-1),
      Escape: () => go({at: undefined, column: undefined}),
    };
  });
  liven(root, data, choice);
  go({});
  if (data.tab) drawTabs(find('tabs'), [{name: data.tab}], 0, () => {});
  const first = data.by ? -1 : [...data.opened.steps || ''].findIndex((letter) => letter !== 'g');
  if (!own) reveal(view.matrix, grid, first >= 0 ? first : grid.columns[column()].tokens[0]);
}

// drawAnswer writes the sentence of what is chosen; of a cell that has none, what stands in it.
function drawAnswer(view) {
  const {data, table, find, opens, opened, column, names, partsOf} = view, {token} = opened();
  if (!opens.length) return;
  if (data.by === 'word' && (column() !== opened().column || !opened().say.length)) {
    write(find('say'), [[names[token], 'b'], ', ' + table.names[column()] + ': ',
      ...listOf(table, partsOf(token, column()))]);
  } else write(find('say'), (opened().say.length ? opened() : data.opened).say);
  write(find('facts'), opened().facts);
}
// listOf lists the parts of a cell.
const listOf = ({empty}, parts) => parts.length ? parts.flatMap(([name, share], k) => [
  ...k ? [', '] : [], name, [' (' + percent(share) + ')', 'span'],
]) : [empty];
function drawText(view) {
  const {opened} = view, {token} = opened();
  const steps = opened().steps || '';
  paintText(view, (other) => [other === token ? 'hm-here' : stepIn(steps, other)],
    (tokens) => tokens.map((other) => stepIn(steps, other)).sort().pop() || '');
}
function drawTable(view) {
  const {data, table, grid, matrix, names, labelOf, opens, opened, column} = view;
  const {columns} = grid, {last} = table, marked = (at) => at === columns[column()];
  const bands = table.bands && grouped(grid);
  const axis = (table.axis || '').replace(/ (?=[↓→])/g, '\u00a0');
  if (!table.ofWords) {
    fillTable(matrix, grid, table.rows.map((name, row) => ({
      key: row, name, here: data.by === 'row' && row === opened().row,
      ends: last && table.ends[row], cells: columns.map((_, i) => cellOf(grid, i,
        table.cells[row][i] === '.' ? undefined :
          {step: stepIn(table.cells[row], i), number: table.labels[row][i]})).join(''),
    })), {axis, bands, last, marked: data.by === 'column' && marked});
    for (const cell of table.words ? matrix.table.querySelectorAll('tbody td[data-c]') : []) {
      const row = Number(cell.parentNode.dataset.i), i = Number(cell.dataset.c);
      if (!columns[i].gap) cell.textContent = table.labels[row][i];
      cell.classList.toggle('hm-came',
        (table.marks || []).some(([y, x]) => y === row && x === i));
    }
    return;
  }
  const {shownIn, partsOf, stepOf} = view;
  view.rows = view.columnsNow();
  fillTable(matrix, grid, view.rows.map((row, key) => ({
    key, name: row.gap ? '⋯ ' + labelOf(row) : names[row.tokens[0]],
    here: row.tokens.includes(opened().token), cells: columns.map((_, i) => {
      const [first] = partsOf(shownIn(row, i), i);
      return cellOf(grid, i, first && {
        step: stepOf(first[1]) || 'hm-z', number: first[0], always: true,
      });
    }).join(''),
  })), {marked});
  const line = matrix.table.querySelector('tr.hm-here');
  if (line) matrix.scroll.scrollTop = line.offsetTop - matrix.scroll.clientHeight / 2;
  reveal(matrix, grid, column());
}
// drawReadout writes what stands in the cell that the pointer is on, or in the one that is chosen.
function drawReadout(view, row, i = view.column()) {
  const {table, grid, matrix, names, rows, opened, partsOf, shownIn, placed} = view;
  const {readout} = matrix.bar;
  if (!table.ofWords) {
    const column = grid.columns[i], y = row >= 0 ? row : opened().cell;
    const place = table.over ? placed(column, column.tokens[0], '').join(' · ') : '';
    if (column.gap && table.words) return readout.replaceChildren(place);
    const [first, others, own] = table.details[y][i].split('\t');
    const {before = [], after = [], about = [], pattern = []} = table;
    const has = {
      first, others, own, before: before[y], after: after[y] || '', about: about[i] || about[0],
      place: place && ' · ' + (table.at ? table.at + names[column.tokens[0]] + ', ' : '') + place,
    };
    return write(readout, pattern.map(
      ([name, tag]) => name ? [has[name], ...tag ? [tag] : []] : tag));
  }
  const line = rows[row], of = line ? shownIn(line, i) : opened().token;
  write(readout, [[names[of], 'b'], ', ' + table.names[i] + ': ',
    ...listOf(table, partsOf(of, i)),
    ' · ' + placed(line || {tokens: [of]}, of).join(' · ')]);
}
// drawSide draws the parts of the row in every column, and the bars of the column.
function drawSide(view) {
  const {data, table, find, names, opened, column, partsOf, stepOf, go} = view;
  if (!data.loads) return;
  const {token} = opened(), all = table.columns.map((_, i) => partsOf(token, i));
  const whole = Math.max(1, ...all.map((parts) => parts.reduce((sum, [, x]) => sum + x, 0)));
  const barIn = (parts) => make('span', {}, ...parts.map(([name, share]) => {
    const part = barOfPart(share / whole, stepOf(share) || 'hm-z');
    part.textContent = share / whole > 0.04 * name.length ? name : '';
    return part;
  }));
  const routes = make('div', {className: 'hm-routes'}, ...range(0, all.length).reverse().flatMap(
    (i) => [make('button', {
      type: 'button', textContent: table.columns[i], ariaLabel: table.names[i],
      ariaPressed: i === column(), onclick: () => go({column: i}),
    }), barIn(all[i])]));
  const {title, note, bars} = data.loads[column()], own = all[column()].map(([name]) => name);
  find('side').replaceChildren(
    titled(table.partsTitle + ' “' + names[token] + '”', table.partsNote, routes),
    titled(title, note, barsOf(bars.map(([name, part, number]) => ({
      name, part, number, strong: own.includes(name.split(' ').pop()),
    })))));
}

begin('.hm-board', start);
