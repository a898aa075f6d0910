// What pictures share that have a text and a matrix: names and columns, the colours of the text,
// tables, and what a reader does. textData in heatmapdata.go has the fields of data. common.js and
// scale.js stand before it.
//
// In all of it, token is the index of a token of the text, tokens are those of a column,
// and row is the number of a row. All text is set as text, never as markup.

// wordsIn has wordOf, which returns the pieces of the word of a token, of which that token is b.
// The marks around a name from right to left are those of the whole word.
const wordsIn = ({names, words}) => ({
  wordOf(token) {
    const pieces = range(0, names.length).filter((other) => words[other] === words[token]).map(
      (other) => [names[other].replace(/[\u2068\u2069]/g, ''), ...other === token ? ['b'] : []]);
    if (isolate(names[token]) !== names[token] || /\u2068/.test(names[token])) {
      pieces[0][0] = '\u2068' + pieces[0][0];
      last(pieces)[0] += '\u2069';
    }
    return pieces;
  },
});

// calledIn has the names of what a model has: what it wrote, a layer beside a row, and a layer in a
// sentence.
const calledIn = (data) => ({
  answer: data.answer || 'generated',
  layerLabel: (layer) => data.layerLabels ? data.layerLabels[layer] : String(layer),
  layerName: (layer) => data.layerLabels ? data.layerLabels[layer] : 'layer ' + layer,
});

// textReading returns what can be read of a text at a choice, without the page. kept returns the
// tokens whose folds are open besides those that were unfolded.
function textReading(data, choice, kept = () => []) {
  const {m: promptCount, names, roles} = data;
  // foldOf has the fold that a token is in: its first token, its end, and its name.
  const foldOf = new Map(data.columns.filter(([, , name]) => name).flatMap(
    (fold) => range(fold[0], fold[1]).map((token) => [token, fold])));
  const turnOf = (token) => data.turns.find(([, , end]) => token < end) || ['', 0, 0];
  const {answer} = calledIn(data);
  const whereIs = (token) => token === data.begins ? 'the start of the ' + answer :
    token >= promptCount ? answer + ' ' + (token - promptCount + 1) :
      (turnOf(token)[0] || data.given) + ' ' + token;
  const textOf = (tokens) => tokens.map(
    (token, i) => (i ? ['', ' ', ' ↵ '][data.spaces[token]] : '') + names[token]).join('');
  // around has what stands around a token.
  function around(token) {
    const [, begin, end] = turnOf(token);
    return '“' + textOf(range(Math.max(token - 3, begin, 0), Math.min(token + 3, end))) + '”';
  }
  // placed tells where the token is that a readout names for a column.
  const placed = ({tokens, gap}, token, unfolds = ', click to unfold') => [
    whereIs(token),
    ...names.length > 30 && !gap && tokens.length === 1 && !data.columnNames ? [around(token)] : [],
    ...gap ? ['the strongest of ' + tokens.length + ' folded tokens' + unfolds] : [],
  ];

  // The columns of the matrix: their tokens, and whether they are a gap. A fold is open as a whole.
  const isOpen = ([from, to]) => choice.all || choice.unfolded.includes(from) ||
    choice.template && roles[from] === 't' || kept().some((token) => from <= token && token < to);
  const isKept = (token) => !foldOf.has(token) || isOpen(foldOf.get(token));
  // Of words, punctuation and what a template writes have no column and no row.
  const isListed = (token) => !data.whole ||
    'pyg'.includes(roles[token]) && data.sorts[token] !== 'm';
  // The last word of an answer has no column: nothing comes from it.
  const lastWord = data.whole && !data.positions ?
    last(range(promptCount, promptCount + data.n).filter(isListed)) : -1;
  function columnsNow() {
    const columns = [];
    for (let from = 0, to; from < data.sources; from = to) {
      const gap = !isKept(from);
      to = gap ? Math.min(foldOf.get(from)[1], data.sources) : from + 1;
      const tokens = range(from, to);
      if (from !== lastWord && tokens.some(isListed)) columns.push({tokens, gap});
    }
    return columns;
  }
  const labelOf = ({tokens, gap}) => gap ? foldOf.get(tokens[0])[2] : names[tokens[0]];
  // isFirstGenerated reports whether a line stands before a column.
  const answerBegins = data.begins ?? promptCount;
  const isFirstGenerated = ({tokens}) => tokens[0] === answerBegins && answerBegins > 0;
  return {
    ...wordsIn(data), ...calledIn(data), data, choice, promptCount, names, roles, turnOf,
    whereIs, textOf, around, placed, isKept, isListed, columnsNow, labelOf, isFirstGenerated,
  };
}

// The text.

// textOn has the elements of the tokens that stand in the text on the page, by their token.
function textOn(root, {names, absent = []}) {
  const elements = root.querySelectorAll('.hm-text :is(span,u)'), away = new Set(absent);
  const tokens = range(0, names.length).filter((token) => !away.has(token));
  return new Map(tokens.map((token, i) => [token, elements[i]]));
}
// viewOf returns the page of a picture beside its reading: find finds an element, texts are the
// tokens of the text, and lines the sentences of each method below the picture.
const viewOf = (root, reading) => ({
  ...reading, root, find: (name) => root.querySelector('.hm-' + name),
  texts: textOn(root, reading.data),
  columns: [], lines: [...root.querySelectorAll('.hm-lines')].map((box) => [...box.children].filter(
    ({localName, children}) => localName === 'div' && children.length === 3)),
});
// paintText gives tokens and folds their classes.
function paintText({root, data, texts, isKept}, classesOf, classOfFold) {
  for (const [token, element] of texts) {
    element.className = classesOf(token).filter(Boolean).join(' ');
    element.removeAttribute('style');
  }
  foldsOn(root, data).forEach(({fold, tokens}) => {
    fold.open = isKept(tokens[0]);
    fold.querySelector('summary').className = fold.open ? '' : classOfFold(tokens);
  });
}
// foldsOn are the folds of the text on the page, with their tokens.
function foldsOn(root, {columns, roles}) {
  const all = columns.filter(([from, , name]) => name && roles[from] !== 't');
  return [...root.querySelectorAll('.hm-text details')].map(
    (fold, i) => ({fold, tokens: range(...all[i].slice(0, 2))}));
}
// tokenAt is the token of the text that an element is of, -1 for none.
const tokenAt = (texts, element) =>
  ([...texts].find(([, other]) => other === element) || [-1])[0];
// onText answers clicks on tokens and on folds of the text.
function onText({root, data, texts, choice, isKept, go}, pick) {
  root.onclick = (event) => {
    const at = (query) => event.target.closest(query), text = at('.hm-text :is(span,u)');
    const token = text ? tokenAt(texts, text) : -1;
    if (token >= 0 && !String(getSelection())) pick(token, event.shiftKey);
    else if (at('.hm-text summary')) {
      event.preventDefault();
      const {tokens} = foldsOn(root, data).find(({fold}) => fold === at('details'));
      go({unfolded: isKept(tokens[0]) ? choice.unfolded.filter((token) => token !== tokens[0]) :
        [...choice.unfolded, tokens[0]]});
    }
  };
}

// Tables.

// tablePart returns a table that scrolls, with a crosshair. point and click are given the row and
// the column that a reader points at or clicks: undefined in the names of columns and of rows. A
// click on a gap unfolds it if the picture can.
function tablePart(view, className, point, click) {
  const table = make('table', {className});
  const cross = make('div', {className: 'hm-cross', hidden: true});
  const scroll = make('div', {className: 'hm-scroll'},
    make('div', {className: 'hm-inner'}, table, cross));
  const part = {table, scroll, hold: make('div', {className: 'hm-hold'}, scroll)};
  const at = ({target}) => ['i', 'c'].map((key) => {
    const element = target.closest('[data-' + key + ']');
    return element ? Number(element.dataset[key]) : undefined;
  });
  table.onpointerover = (event) => {
    const cell = event.target.closest('[data-c]');
    cross.hidden = !cell;
    if (!cell) return point();
    cross.style.left = cell.offsetLeft + 'px';
    cross.style.width = cell.offsetWidth + 'px';
    point(...at(event));
  };
  table.onpointerleave = () => {
    cross.hidden = true;
    point();
  };
  table.onclick = (event) => {
    const {scrollLeft, scrollTop} = part.scroll, [row, i] = at(event), column = view.columns[i];
    if (column && column.gap && view.unfolds) {
      view.go({unfolded: [...view.choice.unfolded, ...column.tokens]});
    } else click(row, i);
    Object.assign(part.scroll, {scrollLeft, scrollTop});
  };
  return part;
}
// fillTable draws rows: key is the number of a row, name its name, faint says that it is that of a
// function word, cells are markup, and note says why there are none. marked and width tell of a
// column whether its name is marked and the class of its width, bands has a line over the names
// that tells who speaks, see grouped, axis says what the names of rows are, and last has the names
// of columns at the end of rows, of which ends has the texts, or a text and the part of the cell
// that its bar fills.
function fillTable({table, hold}, view, rows, {marked, width, bands, axis, last = []} = {}) {
  const {columns} = view, col = (className) => make('col', {className});
  const spaces = columns.filter(({begins}) => begins).length;
  const spaced = (tag, column, cell) =>
    column.begins ? [make(tag, {className: 'hm-space'}), cell] : [cell];
  const widths = make('colgroup', {}, col('hm-label'), ...columns.flatMap(
    (column) => spaced('col', column, col(column.gap ? 'hm-gap' : width && width(column) || ''))));
  const corner = make('th', {textContent: axis || '', className: 'hm-axis'});
  const names = make('tr', {}, corner, ...columns.flatMap(
    (column, i) => spaced('th', column, nameOf(view, column, i, marked))));
  for (const textContent of last) {
    widths.append(col('hm-chance'));
    names.append(make('th', {textContent, className: 'hm-chance'}));
  }
  const head = make('thead', {}, ...bands ? [bands] : [], names);
  const body = make('tbody', {
    innerHTML: rows.map(({key, here, cells}) =>
      '<tr data-i="' + key + '"' + (here ? ' class="hm-here"' : '') + '><th scope="row"></th>' +
      (cells || '<td class="hm-note" colspan="' + (columns.length + spaces) + '"></td>') +
      '<td class="hm-chance"></td>'.repeat(last.length) + '</tr>').join(''),
  });
  rows.forEach(({name, faint, cells, note, ends = []}, i) => {
    Object.assign(body.rows[i].cells[0], {textContent: name, className: faint ? 'hm-faint' : ''});
    if (!cells) body.rows[i].cells[1].textContent = note;
    body.rows[i].querySelectorAll('.hm-chance').forEach((cell, at) => {
      cell.textContent = ends[at].text ?? ends[at];
      if (ends[at].part === undefined) return;
      cell.classList.add('hm-of');
      cell.style.setProperty('--of', (100 * ends[at].part).toFixed(1) + '%');
    });
  });
  table.classList.toggle('hm-tall', rows.length > 16);
  hold.classList.toggle('hm-many', rows.length > 40 && !last.length);
  table.style.setProperty('--cols', columns.length);
  table.style.setProperty('--spaces', spaces);
  // The columns at the end have room for their longest text.
  const longest = Math.max(0, ...rows.flatMap(({ends = []}) => ends.map(
    (end) => (end.text ?? end ?? '').length)));
  table.style.setProperty('--end', longest > 6 ? 9 * longest + 'px' : '');
  table.style.setProperty('--ends', last.length > 1 ? last.length : '');
  table.replaceChildren(widths, head, body);
  // Numbers are shown if the widest has room. A point is half as wide as a digit, a minus wider.
  const widthOf = (text) => text.length + 0.3 * /−/.test(text) - 0.5 * /[.]/.test(text);
  table.style.setProperty('--digits', Math.max(
    0, ...[...body.querySelectorAll('b')].map((number) => widthOf(number.textContent))));
}
// nameOf returns the name of column i.
function nameOf({data, names, roles, labelOf, isFirstGenerated}, column, i, marked) {
  const {tokens: [first], gap} = column;
  const faint = gap || roles[first] === 't' || !/[^␣↵⇥]/.test(names[first]) ||
    data.sorts?.[first] === 'f';
  const cell = make('th', {
    className: (isFirstGenerated(column) ? 'hm-first ' : '') +
      (marked && marked(column) ? 'hm-source' : ''),
  }, make('div', {
    textContent: !gap && data.columnNames?.[first] || labelOf(column),
    className: faint ? 'hm-faint' : '',
  }));
  cell.dataset.c = i;
  return cell;
}
// sinksNote says of a legend which tokens are drawn apart because they are sinks, '' for none.
function sinksNote(names, tokens) {
  const all = tokens.map((token) => '“' + names[token] + '”');
  return !all.length ? '' : '\u00a0· ' + all.slice(0, 2).join(' and ') +
    (all.length > 2 ? ' and others are sinks' : all.length > 1 ? ' are sinks' : ' is a sink') +
    ', in no scale';
}
// grouped tells of each column whether another speaker begins with it, where the table has a space,
// and returns the line with their names. A name that has no room is in a second line, out of sight;
// the last one has the columns at the end, too.
function grouped({data, columns, promptCount, turnOf}) {
  const spans = [];
  for (const column of columns) {
    const at = last(column.tokens), turn = turnOf(at);
    const name = column.tokens[0] >= promptCount || data.chat && turn === last(data.turns) ?
      data.answer || 'answer' : turn[0] || data.given;
    column.begins = spans.length > 0 && last(spans).name !== name;
    if (!spans.length || column.begins) spans.push({name, count: 0});
    last(spans).count++;
  }
  return make('tr', {className: 'hm-band'}, make('th', {}), ...spans.flatMap(
    ({name, count}, i) => [...i ? [make('th', {className: 'hm-space'})] : [], make('th', {
      colSpan: count,
    }, make('div', {}, make('i'), name.replace(/ /g, '\u00a0')))]));
}
// mostNumbers is how many columns with numbers a table has at most.
const mostNumbers = 40;
// cellOf returns a cell of column i as markup, which has numbers and classes alone: empty if there
// is no value, grey if it is in no scale, else of the class of its step.
function cellOf({columns, isFirstGenerated}, i, value) {
  const column = columns[i], first = isFirstGenerated(column) ? ' hm-first' : '';
  const space = column.begins ? '<td class="hm-space"></td>' : '';
  if (!value) return space + '<td class="' + first + '"></td>';
  const {step, number, grey} = value;
  const open = (name) => space + '<td class="' + name + first + '" data-c="' + i + '">';
  const text = number && (step || grey) && (columns.length <= mostNumbers || value.always) ?
    '<b><span>' + number + '</span></b>' : '';
  if (grey && !column.gap) return open('hm-sink') + text + '</td>';
  if (column.gap) return open('hm-gap') + (step && '<i class="' + step + '"></i>') + '</td>';
  return open(step || 'hm-z') + text + '</td>';
}
// reveal scrolls a table so that the column of a token is in view.
function reveal({table, scroll}, {columns}, token) {
  const i = columns.findIndex(({tokens}) => tokens.includes(token));
  const name = table.querySelector('th[data-c="' + i + '"]');
  const left = name ? name.offsetLeft - scroll.scrollLeft : 0;
  if (name && (left < 96 && scroll.scrollLeft || left > scroll.clientWidth * 0.8)) {
    scroll.scrollLeft = name.offsetLeft - scroll.clientWidth / 2;
  }
}
// thumbnails draws small pictures, each with the rows of its classes, which style sheets colour: of
// those below the neutral value a diagonal is left out. A click calls open with its number.
function thumbnails(box, pictures, open) {
  box.replaceChildren(...pictures.map(({name, rows, columns, width, height}, i) => {
    const paths = {};
    rows.forEach((row, y) => {
      for (let x = 0, end; x < row.length; x = end) {
        for (end = x + 1; end < row.length && row[end] === row[x];) end++;
        if (!row[x]) continue;
        paths[row[x]] = (paths[row[x]] || '') + (row[x][0] !== 'n' ?
          'M' + x + ' ' + y + 'h' + (end - x) + 'v1H' + x + 'z' :
          range(x, end).map((at) => 'M' + at + ' ' + y + 'h.7l-.7 .7zM' + (at + 1) + ' ' +
            (y + 1) + 'h-.7l.7-.7z').join(''));
      }
    });
    return make('button', {
      type: 'button', onclick: () => open(i), innerHTML: '<svg viewBox="0 0 ' + columns + ' ' +
        rows.length + '" width="' + width + '" height="' + height +
        '" preserveAspectRatio="none" aria-hidden="true">' + Object.keys(paths).map((each) =>
        '<path class="' + each + '" d="' + paths[each] + '"/>').join('') + '</svg>',
    }, make('span', {textContent: name}));
  }));
}

// Titles, bars and controls.

// write writes the pieces of a sentence. A piece is a text and, if it has one, its element: b for a
// token that the sentence is about, span for what is less important.
const write = (element, pieces) => element.replaceChildren(...pieces.map((piece) => {
  const [text, tag] = [piece].flat();
  return tag === 'span' ? quiet(text) : tag ? make(tag, {textContent: text}) : text;
}));

// quiet is what stands around a token in a sentence: the marks of its line ends are faint.
const quiet = (text) => make('span', {className: 'hm-q'}, ...text.split(/(↵)/).map(
  (part) => part === '↵' ? make('span', {className: 'hm-faint', textContent: part}) : part));
// entitle writes a title and a note to it.
const entitle = (element, title, note) => element.replaceChildren(
  title + ' ', make('span', {textContent: note ? '· ' + note : ''}));
// titled returns a box of content with its title.
function titled(title, note, ...content) {
  const heading = make('div', {className: 'hm-h'});
  entitle(heading, title, note);
  return make('div', {}, heading, ...content);
}
// barOf returns the line over a matrix: its title, switches, and a readout in a fixed place.
function barOf(...switches) {
  const title = make('div', {className: 'hm-h'}), readout = make('div', {className: 'hm-readout'});
  return {title, readout, bar: make('div', {className: 'hm-bar'}, title, ...switches, readout)};
}
// switchOf returns a switch; isOn reports whether it is on, and drawSwitches shows that.
const switchOf = (textContent, isOn, onclick) => make('button', {
  type: 'button', role: 'switch', className: 'hm-switch', textContent, isOn, onclick,
});
const drawSwitches = (root) => root.querySelectorAll('.hm-switch').forEach(
  (button) => { button.ariaChecked = Boolean(button.isOn()); });
// unfoldSwitch returns the switch that unfolds all columns, if some are folded.
const unfoldSwitch = ({columns}, choice, go) => columns.some(([, , folded]) => folded) ? [
  switchOf('unfold all', () => choice.all, () => go({all: !choice.all, unfolded: []})),
] : [];
// barsOf returns lines, each with a name, a bar that is a part of the width, and a number.
const barsOf = (lines) => make('div', {className: 'hm-alternatives'}, ...lines.flatMap(
  ({name, part, number, step, strong}) => [
    make('span', {className: strong ? 'hm-me' : ''}, name), barOfPart(part, step),
    make('span', {textContent: number}),
  ]));
function barOfPart(part, step) {
  const bar = make('i', {className: step || ''});
  bar.style.width = (100 * part).toFixed(1) + '%';
  return bar;
}
const drawTabs = (tabs, methods, open, choose) => tabs.replaceChildren(...methods.map(
  ({name}, i) => make('button', {
    type: 'button', role: 'tab', textContent: name, ariaSelected: i === open,
    onclick: () => choose(i),
  })));
// backButton leads from what a token gave to where one came from.
const backButton = (textContent, onclick) =>
  make('button', {type: 'button', className: 'hm-back', textContent, onclick});
