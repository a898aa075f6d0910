// Adds touch to matrices of layers or of maps that are complete without it. It draws the open
// matrix with its folded columns and all of them small. panelsData in panels.go has the fields of
// data. All text is set as text, never as markup. common.js and scale.js stand before it.

// textOf is the text of a token as it stands in a sentence.
const textOf = (element) => isolate(element.textContent);
// rankedIn has the columns of a row that stand out, those with the largest values first.
function rankedIn(k, row, grey) {
  return row.map((x, c) => [Math.abs(placeOf(k, x)), c])
    .filter(([place, c]) => !grey.has(c) && classOf(place))
    .sort((a, b) => b[0] - a[0])
    .map(([, c]) => c);
}
// joined lists names with commas and a last "and" between them.
const joined = (names) =>
  names.length > 1 ? names.slice(0, -1).join(', ') + ' and ' + last(names) : names.join('');
// cellOf is the class of a cell: that of its colour, of a grey column, or of one without a colour.
function cellOf(k, x, isGrey) {
  if (x === undefined) return '';
  return isGrey ? 'hm-sink' : classOf(placeOf(k, x)) || 'hm-z';
}
// hatched is what a canvas fills cells below the neutral value with: a colour of which every fourth
// diagonal is left out.
const brushes = {};
function hatched(context, color) {
  if (brushes[color]) return brushes[color];
  const tile = make('canvas', {width: 4, height: 4}), brush = tile.getContext('2d');
  brush.fillStyle = color;
  for (let i = 0; i < 16; i++) {
    if ((i % 4 + (i >> 2)) % 4) brush.fillRect(i % 4, i >> 2, 1, 1);
  }
  return brushes[color] = context.createPattern(tile, 'repeat');
}

function start(root, d) {
  const numbers = (row) => range(0, sizeOf(row)).map((j) => valueOf(row, j));
  for (const k of d.methods) {
    for (const one of k.list) {
      one.cells = (one.cells || []).map(numbers);
      one.total = one.total && numbers(one.total);
      one.grey = new Set(one.grey);
    }
  }
  const $ = (name) => root.querySelector('.hm-' + name);
  const tokens = [...root.querySelectorAll('.hm-text :is(span,u)')], text = $('text');
  const classes = tokens.map((e) => [...e.classList].filter((c) => /^hm-(k|w|head)$/.test(c)));
  const atFirst = tokens.map((e) => e.className);
  const answerAtFirst = [...$('say').childNodes], factsAtFirst = [...$('facts').childNodes];
  const blocks = [...root.querySelectorAll('.hm-lines')].map(
    (e) => [...e.children].filter((c) => c.localName === 'div'));
  const s = choices(d.id, root, {open: {}});
  const methodAt = () => within(s.method, d.methods.length, d.lead), method = () =>
    d.methods[methodAt()];
  const openAt = () => within(s.panel, method().list.length, method().open);
  const open = () => method().list[openAt()];
  const row = () => within(s.row, open().cells.length, open().row);
  const first = () => methodAt() === d.lead && openAt() === method().open &&
    row() === open().row && !(s.column >= 0);
  const folded = (c) => d.columns[c][1] - d.columns[c][0] > 1;
  const columnOf = (j) => d.columns.findIndex(([from, to]) => from <= j && j < to);
  const nameOf = (c) => folded(c) ? d.labels[c] : textOf(tokens[d.columns[c][0]]);
  const place = (c) => {
    const [j, to] = d.columns[c];
    if (to - j > 1) return 'the strongest of ' + (to - j) + ' folded tokens';
    return j < d.m ? d.given + ' ' + j : 'generated ' + (j - d.m + 1);
  };
  const rowName = (i) => d.targets ? nameOf(i) : method().rowNames[i];
  // layerName is the name of the layer that a cell of row i is of.
  const layerName = (i) => method().where + (d.targets ? open().name : method().rowNames[i]);
  const bold = (content) => make('b', {textContent: content});
  const valuesOf = (c) => open().cells.map((cells) => cells[c]);

  // shown is the row or, for a chosen source, the column that colours the text, with its scale.
  function shown() {
    const k = method(), one = open();
    if (d.targets && s.column >= 0) return [k, valuesOf(s.column), new Set()];
    if (row() >= 0) return [k, one.cells[row()] || [], one.grey];
    return [{...k, limit: k.totalLimit || k.limit}, one.total || [], one.grey];
  }
  function drawAnswer() {
    const block = blocks[methodAt()] && blocks[methodAt()][openAt()];
    const say = $('say'), facts = $('facts'), k = method();
    const copy = (to, from) => to.replaceChildren(...[...from].map((e) => e.cloneNode(true)));
    const [scale, values, grey] = shown();
    const list = rankedIn(scale, values, grey).slice(0, 3);
    const named = list.map((c) => nameOf(c) + ' ' + format(scale, values[c], 0)).join(', ');
    if (first()) {
      copy(say, answerAtFirst);
      copy(facts, factsAtFirst);
    } else if (d.targets) {
      const names = joined(list.map(nameOf)), source = s.column >= 0;
      const me = source ? s.column : Math.max(row(), 0);
      if (!list.length) say.replaceChildren('Nothing stands out for ', bold(nameOf(me)));
      else
        say.replaceChildren(
          bold(nameOf(me)), source ? ' gave most to ' : ' has most from ', bold(names));
      facts.replaceChildren(
        (named ? named + ' · ' : '') + layerName(0) + ' · ' + k.unit + ' · ' + place(me));
    } else if (block && block.children.length > 1) {
      copy(say, block.children[0].childNodes);
      copy(facts, block.children[1].childNodes);
    } else say.replaceChildren(bold(open().name));
    if (!first() && !d.targets && row() >= 0)
      facts.replaceChildren(layerName(row()) + ': ' + (named || 'nothing stands out'));
  }
  function drawText() {
    const [k, values, grey] = shown();
    const least = Math.max(0, ...values.map(
      (x, c) => grey.has(c) ? 0 : Math.abs(placeOf(k, x)))) / 12;
    const here = d.targets ? d.columns[s.column >= 0 ? s.column : Math.max(row(), 0)][0] :
      open().token;
    const colors = tokens.map(() => '');
    values.forEach((x, c) => {
      const at = x === undefined ? 0 : placeOf(k, x);
      if (grey.has(c) || Math.abs(at) < least) return;
      range(...d.columns[c]).forEach((j) => { colors[j] = folded(c) ? '' : classOf(at); });
    });
    tokens.forEach((e, j) => {
      e.removeAttribute('style');
      e.className = first() && !d.targets ?
        atFirst[j] :
        [...classes[j], j === here ? 'hm-here' : colors[j]].join(' ').trim();
    });
  }
  function drawTabs() {
    $('tabs').replaceChildren(...d.methods.map((k, i) => {
      const tab = make(
        'button', {type: 'button', textContent: k.name, onclick: () => go({method: i, row: -1})});
      tab.setAttribute('role', 'tab');
      tab.setAttribute('aria-selected', i === methodAt());
      return tab;
    }));
  }
  const cell = (name, of) => Object.assign(make(name, {}), of);
  function head() {
    const band = cell('tr', {className: 'hm-band'}), names = make('tr', {});
    const answer = d.columns.findIndex(([from]) => from >= d.m);
    const before = answer < 0 ? d.columns.length : answer;
    band.append(cell('th', {}), cell('th', {colSpan: before || 1, textContent: d.given}));
    if (answer >= 0)
      band.append(cell('th', {colSpan: d.columns.length - answer, textContent: 'generated'}));
    names.append(cell('th', {}), ...d.labels.map((label, c) => {
      const th = cell('th', {className: c === answer ? 'hm-first' : ''});
      th.dataset.c = c;
      if (c === s.column) th.classList.add('hm-source');
      th.append(make('div', {textContent: label, className: folded(c) ? 'hm-faint' : ''}));
      return th;
    }));
    const thead = make('thead', {});
    thead.append(band, names);
    return thead;
  }
  // drawMatrix draws the open matrix. Its cells are markup of numbers and classes alone.
  function drawMatrix() {
    const k = method(), one = open(), table = $('matrix'), count = d.columns.length;
    table.className = 'hm-matrix' + (one.cells.length > 16 ? ' hm-tall' : '');
    table.style.setProperty('--cols', count);
    const widths = make('colgroup', {});
    widths.append(
      make('col', {className: 'hm-label'}),
      ...d.columns.map((_, c) => make('col', {className: folded(c) ? 'hm-gap' : ''})));
    const answer = d.columns.findIndex(([from]) => from >= d.m);
    const body = make('tbody', {
      innerHTML: one.cells
                   .map(
                     (cells, i) => '<tr data-i="' + i + '"><th scope="row"></th>' +
                       d.columns
                         .map((_, c) => {
                           const name = cellOf(k, cells[c], one.grey.has(c));
                           if (!name) return '<td></td>';
                           const number = count <= 24 && name !== 'hm-z' && !folded(c) ?
                             '<b>' + inCell(k, cells[c]) + '</b>' :
                             '';
                           return '<td class="' + name + (c === answer ? ' hm-first' : '') +
                             '" data-c="' + c + '">' + number + '</td>';
                         })
                         .join('') +
                       '</tr>')
                   .join('')
    });
    table.replaceChildren(widths, head(), body);
    table.querySelectorAll('tbody tr').forEach((tr, i) => {
      tr.className = i === row() && !(s.column >= 0) ? 'hm-here' : '';
      tr.firstChild.textContent = rowName(i);
    });
    $('h').replaceChildren(d.title + ' ', make('span', {
                             textContent: '· ' + [k.name, (d.targets ? k.where : '') + one.name +
                               (k.parts ? ', what each layer adds' : '')].join(', ')
                           }));
    $('legend').replaceChildren(...legendOf(k));
  }
  // resolved returns the colours of classes as they are in the theme and the palette of the page.
  function resolved() {
    const probe = root.appendChild(make('i', {})), all = {};
    for (const name of ['z', ...range(1, 7).flatMap((x) => ['p' + x, 'n' + x])]) {
      probe.className = name === 'z' ? 'hm-z' : name;
      all[probe.className] = getComputedStyle(probe).backgroundColor;
    }
    probe.remove();
    return all;
  }
  function drawSmall() {
    const k = method(), colors = resolved(), count = d.columns.length;
    const rows = Math.max(1, ...k.list.map((one) => one.cells.length));
    const width = Math.max(1, Math.floor(200 / count));
    const height = d.targets ? width : Math.min(Math.max(Math.floor(150 / rows), 2), 12);
    const all = k.list.map((one, i) => {
      const canvas = make('canvas', {width: count * width, height: rows * height});
      const context = canvas.getContext('2d');
      one.cells.forEach((cells, y) => cells.forEach((x, c) => {
        const name = cellOf(k, x, one.grey.has(c)), color = colors[name] || 'transparent';
        context.fillStyle = name[0] === 'n' ? hatched(context, color) : color;
        context.fillRect(c * width, y * height, width, height);
      }));
      const button = make('button', {type: 'button', onclick: () => choose(i)});
      button.setAttribute('aria-pressed', i === openAt());
      button.append(canvas, make('span', {textContent: (d.targets ? k.where : '') + one.name}));
      return button;
    });
    $('small').replaceChildren(...all);
  }
  function read(i, c) {
    const line = $('readout'), [k, one] = [method(), open()];
    if (i === undefined) {
      i = Math.max(row(), 0);
      const best = one.cells.map((cells, at) => [at, rankedIn(k, cells, one.grey)[0]])
                     .filter(([at, column]) => column >= 0 && (d.targets ? at === i : true))
                     .sort((a, b) => Math.abs(placeOf(k, one.cells[b[0]][b[1]])) -
                             Math.abs(placeOf(k, one.cells[a[0]][a[1]])))[0];
      if (c >= 0) best && (i = best[0]);
      else if (best) [i, c] = best;
    }
    const x = (one.cells[i] || [])[c], me = d.targets ? nameOf(i) : one.name;
    if (x === undefined) {
      line.replaceChildren(bold(me), c >= 0 ? ' · ' + nameOf(c) + ' comes later' :
                                              ' · nothing stands out');
      return;
    }
    const whole = one.total ? ' of ' + format(k, one.total[c], 0) : '';
    line.replaceChildren(
      bold(me), ' ← ', bold(nameOf(c)), ' ' + format(k, x, 0) + whole + ' · ' + layerName(i) +
        ' · ' + place(c) + (one.grey.has(c) ? ' · not in the scale' : ''));
  }
  function go(change) {
    Object.assign(s, change);
    root.classList.toggle('hm-wide', d.columns.length > 50);
    drawTabs();
    drawAnswer();
    drawText();
    drawMatrix();
    drawSmall();
    read(undefined, s.column);
    const [k, values, grey] = shown(), best = rankedIn(k, values, grey)[0];
    const th = best >= 0 && !(s.column >= 0) && table.querySelectorAll('th[data-c]')[best];
    if (th && th.offsetLeft > scroll.clientWidth * 0.8)
      scroll.scrollLeft = th.offsetLeft - scroll.clientWidth / 2;
  }
  const choose = (i) => go({panel: i, row: d.targets ? row() : -1, column: -1});
  const chooseRow = (i) => go({row: i === s.row && !d.targets ? -1 : i, column: -1});
  const chooseColumn = (c) =>
    go({column: c === s.column ? -1 : c, row: d.targets ? c : s.row});

  const after = $('after'), bar = make('div', {className: 'hm-bar'});
  bar.append(make('div', {className: 'hm-h'}), make('div', {className: 'hm-readout'}));
  bar.lastChild.style.flexBasis = '100%';
  const hold = make('div', {className: 'hm-hold'}), scroll = make('div', {className: 'hm-scroll'});
  const table = make('table', {className: 'hm-matrix'});
  const cross = make('div', {className: 'hm-cross', hidden: true});
  hold.append(table, cross);
  scroll.append(hold);
  after.append(
    bar, scroll, make('div', {className: 'hm-legend'}),
    make('div', {className: 'hm-h hm-strip-title', textContent: d.small}),
    make('div', {className: 'hm-small' + (d.targets ? ' hm-upward' : '')}));
  root.classList.add('hm-on');
  paletteMenu(root, d.palettes, s, drawSmall);
  matchMedia('(prefers-color-scheme:dark)').addEventListener('change', drawSmall);

  root.addEventListener('click', (event) => {
    const at = (query) => event.target.closest(query);
    const j = tokens.indexOf(at('.hm-text :is(span,u)')), td = at('.hm-matrix [data-c]');
    const tr = at('.hm-matrix [data-i]'), panel = method().list.findIndex((e) => e.token === j);
    if (j >= 0 && !String(getSelection())) {
      if (!d.targets && panel >= 0 && panel !== openAt()) choose(panel);
      else if (d.targets && !event.shiftKey && columnOf(j) !== row()) chooseRow(columnOf(j));
      else if (columnOf(j) >= 0) chooseColumn(columnOf(j));
    } else if (tr) {
      chooseRow(Number(tr.dataset.i));
      if (td) read(Number(tr.dataset.i), Number(td.dataset.c));
    } else if (td) chooseColumn(Number(td.dataset.c));
  });
  table.addEventListener('pointerover', (event) => {
    const td = event.target.closest('[data-c]'), tr = event.target.closest('[data-i]');
    cross.hidden = !td;
    if (!td) return read(undefined, s.column);
    cross.style.left = td.offsetLeft + 'px';
    cross.style.width = td.offsetWidth + 'px';
    read(tr ? Number(tr.dataset.i) : undefined, Number(td.dataset.c));
  });
  table.addEventListener('pointerleave', () => {
    cross.hidden = true;
    read(undefined, s.column);
  });
  // Left and right choose a target or a token, up and down a layer.
  const ahead = text.dir === 'rtl' ? -1 : 1;
  const move = (side, up) => {
    const rows = open().cells.length, list = method().list.length;
    if (d.targets) {
      go({row: clamp(row() + side, rows), panel: clamp(openAt() + up, list), column: -1});
    } else if (up) go({row: row() < 0 ? (up > 0 ? rows - 1 : 0) : clamp(row() - up, rows)});
    else choose(clamp(openAt() + side, list));
  };
  root.addEventListener('keydown', (event) => {
    const act = {
      ArrowLeft: () => move(-ahead, 0),
      ArrowRight: () => move(ahead, 0),
      ArrowUp: () => move(0, 1),
      ArrowDown: () => move(0, -1),
      Home: () => move(-Infinity, 0),
      End: () => move(Infinity, 0),
      Enter: () => d.targets && chooseColumn(Math.max(row(), 0)),
      Escape: () => go({panel: undefined, row: d.targets ? s.row : -1, column: -1}),
    }[event.key];
    const other = event.altKey || event.ctrlKey || event.metaKey ||
      event.target.closest('.hm-scroll,button,summary');
    if (!act || other) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  root.setAttribute('data-lm-suppress-shortcuts', 'true');
  $('details').open = false;  // it was open for readers without a script
  keepOpen(root, s.open);
  go({});
}

begin('.hm-panels', start);
