// Adds touch to a picture of heads that is complete without it: choosing tokens, layers and heads.
// All text is set as text, never as markup. headsData in headspage.go has the fields of data.
// common.js and scale.js stand before it.

// percent writes a share as sentences do. Coarse ones are known to a whole per cent.
const percent = (x, coarse) =>
  (coarse ? '≈ ' : '') + fixed(100 * x, coarse || x >= 0.1 ? 0 : 1) + ' %';
// joined returns pieces of text with commas and a last "and" between the parts of a list.
const joined = (list) => list.flatMap(
  (part, k) => k ? [[k === list.length - 1 ? ' and ' : ', '], ...part] : part);

// attentionOf reads the rows of data. A piece of a sentence is a text and, if it has one, its
// element: b for a token that the sentence is about, span for what is less important.
function attentionOf(d) {
  const sinks = new Set(d.sinks);
  const known = (i) => i >= d.first && i <= d.last;
  const seen = (i) => d.both ? d.tokens : i + 1;
  // at is how much of a head's attention from token i is on token j.
  const at = (l, h, i, j) =>
    known(i) && j < seen(i) ? valueOf(d.rows[l * d.heads + h][i - d.first], j) : 0;
  const color = (l, h, i, j) => sinks.has(j) ? '' : classOf(at(l, h, i, j));
  // strongest has those of the tokens that stand out by their share, the strongest first.
  function strongest(tokens, share) {
    const list = tokens.filter((j) => classOf(share(j))).sort((a, b) => share(b) - share(a));
    return list.filter((j) => share(j) >= share(list[0]) / 12);
  }
  const standing = (l, h, i) => strongest(
    range(0, seen(i)).filter((j) => !sinks.has(j)), (j) => at(l, h, i, j));
  // lookers are the tokens from which a head looks at token j.
  const lookers = (l, h, j) => strongest(range(d.first, d.last + 1), (i) => at(l, h, i, j));
  const word = (j) => range(0, d.names.length).filter((k) => d.words[k] === d.words[j]).map(
    (k) => k === j ? [d.names[k], 'b'] : [d.names[k]]);
  const named = (list, share) => joined(
    list.slice(0, 3).filter((j) => share(j) >= 0.35 * share(list[0])).map(
      (j) => [...word(j), [' ' + percent(share(j), d.coarse), 'span']]));
  // sentence says where a head looks from token i, as Go does (sentence in heads.go).
  function sentence(l, h, i) {
    const t = d.predicted[i], before = d.generated && t >= 0, share = (j) => at(l, h, i, j);
    const head = [
      [before ? 'Before ' : 'From '], ...word(before ? d.m + t : i),
      [', head ' + h + ' of layer ' + l + ' looked '],
    ];
    const list = standing(l, h, i), sink = d.sinks.filter((j) => share(j) > 0.5);
    if (list.length) return [...head, ['at '], ...named(list, share)];
    if (sink.length) return [...head, ['mostly at the sink '], ...named(sink, share)];
    return [...head, ['at no token in particular']];
  }
  // gave says from where a head looks at token j.
  function gave(l, h, j) {
    const list = lookers(l, h, j), head = 'head ' + h + ' of layer ' + l;
    if (!list.length) return [...word(j), [' stands out for no token of ' + head]];
    return [
      ...word(j), [' is looked at by ' + head + ' from '], ...named(list, (i) => at(l, h, i, j)),
    ];
  }
  return {sinks, known, seen, at, color, standing, lookers, word, sentence, gave};
}

function start(root, d) {
  const {known, seen, at, color, standing, lookers, word, sentence, gave, sinks} = attentionOf(d);
  const {m, names, roles} = d, T = d.tokens;
  const $ = (name) => root.querySelector('.hm-' + name);
  const tokens = [...root.querySelectorAll('.hm-text :is(span,u)')];
  const fixedClass = tokens.map((e) => [...e.classList].filter((c) => /^hm-(k|w|head)$/.test(c)));
  const shown = new Set(d.columns.filter((c) => !c[2]).map((c) => c[0]));
  const s = choices(d.id, root, {unfolded: [], open: {}});
  const query = () => within(s.query, T, d.query);
  // first is the layer and the head that a token opens.
  const first = (i) => known(i) ? d.opens[i - d.first] : [d.layer, d.head];
  const layer = () => within(s.layer, d.layers, first(query())[0]);
  const head = () => within(s.head, d.heads, first(query())[1]);
  const chosen = () => s.source >= 0 && s.source < T;
  // source is the token that the map is about: the chosen one, or what the first head looks at.
  const source = () => chosen() ? s.source :
    standing(...first(query()), query()).concat(bestOf(query()).map((best) => best[2]), query())[0];
  const fed = () => s.fed ? chosen() ? s.source : query() : -1;
  // bestOf has the heads that are listed for token i: the layer, the head and the token of each,
  // and by how many thousandths it looks there more than its habit.
  function bestOf(i) {
    const list = known(i) ? d.best[i - d.first] : [];
    return range(0, list.length / 4).map((k) => list.slice(4 * k, 4 * k + 4));
  }
  // predictionAt is the prediction that is made at token i, -1 if there is none, and framedBy the
  // token that is framed with it.
  const predictionAt = (i) => d.predicted[i];
  const framedBy = (i) => d.generated && predictionAt(i) >= 0 ? m + predictionAt(i) : i;
  const bold = (text) => make('b', {textContent: text});
  const write = (element, pieces) => element.replaceChildren(...pieces.map(
    ([text, tag]) => tag ?
      make(tag, {textContent: text, className: tag === 'span' ? 'hm-q' : ''}) : text));
  const titled = (text, note) => {
    const title = make('div', {className: 'hm-h', textContent: text + ' '});
    title.append(make('span', {textContent: '· ' + note}));
    return title;
  };

  // Names and columns.
  const turnOf = (j) => d.turns.find((t) => j < t[2]) || ['', 0, 0];
  const place = (j) =>
    j >= m ? 'generated ' + (j - m + 1) : (turnOf(j)[0] || d.given) + ' ' + j;
  const textOf = (ids) =>
    ids.map((j, k) => (k && d.spaces[j] === '1' ? ' ' : '') + names[j]).join('');
  const quote = (j) =>
    '“' + textOf(range(Math.max(j - 3, 0, turnOf(j)[1]), Math.min(j + 3, turnOf(j)[2]))) + '”';
  const keeps = (j) => shown.has(j) || s.all || s.unfolded.includes(j) || j === query() ||
    chosen() && j === s.source;
  function columnsOf() {
    const list = [];
    for (let j = 0, end; j < T; j = end) {
      end = j + 1;
      const gap = !keeps(j);
      while (gap && end < T && !keeps(end) && (roles[end] === 'p') === (roles[j] === 'p')) end++;
      list.push({ids: range(j, end), gap});
    }
    return list;
  }
  const labelOf = (c) => !c.gap ? names[c.ids[0]] : roles[c.ids[0]] === 'p' ? c.ids.length :
    turnOf(last(c.ids))[0];
  const edgeOf = (c) => c.ids[0] === m && d.generated ? ' hm-first' : '';
  const strongestIn = (c, l, h, i) => c.ids.reduce((best, j) =>
    !sinks.has(j) && (sinks.has(best) || at(l, h, i, j) > at(l, h, i, best)) ? j : best);

  // cells are the cells of a row as markup, which has numbers and classes alone.
  function cells(l, h, i) {
    return columns.map((c, x) => {
      const edge = edgeOf(c), data = '" data-c="' + x + '">';
      if (c.ids[0] >= seen(i) || !known(i)) return '<td class="' + edge + '"></td>';
      const j = strongestIn(c, l, h, i), text = fixed(100 * at(l, h, i, j), 0);
      const name = color(l, h, i, j), mark = name && '<i class="' + name + '"></i>';
      if (sinks.has(j)) return '<td class="hm-sink' + edge + data + text + '</td>';
      if (c.gap) return '<td class="hm-gap' + data + mark + '</td>';
      return '<td class="' + (name || 'hm-z') + edge + data +
        (columns.length <= 24 && name ? '<b>' + text + '</b>' : '') + '</td>';
    }).join('');
  }
  function header() {
    const group = make('colgroup', {}), tr = make('tr', {}), thead = make('thead', {});
    group.append(make('col', {className: 'hm-label'}), ...columns.map((c) => make('col', {
      className: c.gap ? 'hm-gap' : sinks.has(c.ids[0]) ? 'hm-chance' : '',
    })));
    const marked = fed() >= 0 ? fed() : chosen() ? s.source : -1;
    tr.append(make('th', {}), ...columns.map((c, x) => {
      const th = make('th', {
        className: edgeOf(c) + (c.ids.includes(marked) ? ' hm-source' : ''),
      });
      th.dataset.c = x;
      th.append(make('div', {
        textContent: labelOf(c),
        className: c.gap || roles[c.ids[0]] === 't' || !/[^␣↵⇥]/.test(names[c.ids[0]]) ?
          'hm-faint' : '',
      }));
      return th;
    }));
    thead.append(tr);
    return [group, thead];
  }
  // matrix makes a part with a title, a readout in a fixed place and a table that scrolls. rowOf
  // returns the layer, the head and the token of a row, whose number is in data-i.
  function matrix(rowOf) {
    const part = make('div', {
      innerHTML: '<div class="hm-bar"><div class="hm-h"></div><div class="hm-readout"></div>' +
        '</div><div class="hm-hold"><div class="hm-scroll"><div><table class="hm-matrix"></table>' +
        '<div class="hm-cross" hidden></div></div></div><div class="hm-more" hidden>' +
        '<button type="button"></button></div></div>',
    });
    const [title, readout, hold, scroll, table, cross, more, button] = [
      '.hm-h', '.hm-readout', '.hm-hold', '.hm-scroll', 'table', '.hm-cross', '.hm-more', 'button',
    ].map((name) => part.querySelector(name));
    $('after').append(part);
    // read writes what a head gives the tokens of a column, or the one that it gives most.
    function read(l = layer(), h = head(), i = query(), c) {
      const larger = (a, b) => at(l, h, i, b) > at(l, h, i, a) ? b : a;
      const j = c ? strongestIn(c, l, h, i) :
        standing(l, h, i).concat(range(0, seen(i)).reduce(larger))[0];
      readout.replaceChildren('layer ' + l + ', head ' + h + ': ', bold(names[i]), ' → ',
        bold(names[j]), ' ' + percent(at(l, h, i, j), d.coarse) + ' · ' + place(j) +
          (names.length > 30 ? ' · ' + quote(j) : '') +
          (c && c.gap ? ' · the strongest of ' + c.ids.length + ' folded tokens, click to unfold' :
            sinks.has(j) ? ' · a sink, not in the scale' : ''));
    }
    function fade() {
      const {right} = scroll.getBoundingClientRect();
      const count = [...table.querySelectorAll('th[data-c]')].filter(
        (th) => th.getBoundingClientRect().left > right - 12).length;
      more.hidden = !count;
      button.textContent = count + ' more →';
    }
    table.onpointerover = (event) => {
      const td = event.target.closest('[data-c]'), tr = event.target.closest('[data-i]');
      cross.hidden = !td;
      if (!td) return read();
      cross.style.left = td.offsetLeft + 'px';
      cross.style.width = td.offsetWidth + 'px';
      if (tr) read(...rowOf(Number(tr.dataset.i)), columns[td.dataset.c]);
    };
    table.onpointerleave = () => {
      cross.hidden = true;
      read();
    };
    table.onclick = (event) => {
      const td = event.target.closest('[data-c]'), tr = event.target.closest('[data-i]');
      const column = td && columns[td.dataset.c], {scrollLeft, scrollTop} = scroll;
      if (column && column.gap) go({unfolded: [...s.unfolded, ...column.ids]});
      else if (!tr) return column && choose(column.ids[0]);
      else {
        const [l, h, i] = rowOf(Number(tr.dataset.i));
        const source = column ? column.ids[0] : undefined;
        go({layer: l, head: h, query: i, fed: false, source});
        if (column) read(l, h, i, column);
      }
      Object.assign(scroll, {scrollLeft, scrollTop});
    };
    button.onclick = () => scroll.scrollBy({left: 260, behavior: 'smooth'});
    scroll.onscroll = fade;
    new ResizeObserver(fade).observe(scroll);
    // draw draws rows, the number and the name of each, one of them framed.
    function draw(text, note, rows, framed) {
      title.replaceChildren(...titled(text, note).childNodes);
      table.classList.toggle('hm-tall', rows.length > 16);
      hold.classList.toggle('hm-many', rows.length > 40);
      table.style.setProperty('--cols', columns.length);
      table.replaceChildren(...header(), make('tbody', {
        innerHTML: rows.map(([k]) => '<tr data-i="' + k + '"' +
          (k === framed ? ' class="hm-here"' : '') + '><th scope="row"></th>' +
          cells(...rowOf(k)) + '</tr>').join(''),
      }));
      [...table.tBodies[0].rows].forEach((tr, x) => { tr.cells[0].textContent = rows[x][1]; });
      const about = fed() >= 0 ? fed() : source(), tr = table.querySelector('tr.hm-here');
      const th = table.querySelectorAll('th[data-c]')[
        columns.findIndex((c) => c.ids.includes(about))];
      const left = th.offsetLeft - scroll.scrollLeft;
      if (left < 96 || left > scroll.clientWidth * 0.8) {
        scroll.scrollLeft = th.offsetLeft - scroll.clientWidth / 2;
      }
      if (tr) scroll.scrollTop = tr.offsetTop - scroll.clientHeight / 2;
      read();
      fade();
    }
    return {draw, read, title};
  }

  function drawAnswer(l, h, i) {
    const facts = $('facts'), t = predictionAt(i);
    if (fed() >= 0) {
      const back = make('button', {
        type: 'button', textContent: 'back to what it looks at', onclick: () => go({fed: false}),
      });
      back.style.color = 'var(--link)';
      write($('say'), gave(l, h, fed()));
      facts.replaceChildren(place(fed()) + ' · which tokens look at it · ', back);
    } else if (!known(i)) {
      write($('say'), [...word(i), [': there was no room for what heads look at from here']]);
      facts.replaceChildren(place(i));
    } else {
      write($('say'), sentence(l, h, i));
      facts.replaceChildren((t >= 0 ? d.from[t] : 'seen from ' + place(i)) + d.sinks.filter(
        (j) => at(l, h, i, j) >= 0.01).map((j) => ' · sink “' + names[j] + '” (' + j + ') ' +
        percent(at(l, h, i, j), d.coarse)).join(''));
    }
  }
  // With fed, the text shows which tokens look at the source.
  function drawText(l, h, i) {
    const f = fed(), colored = new Set(f >= 0 ? lookers(l, h, f) : standing(l, h, i));
    const of = (j) => f >= 0 ? classOf(at(l, h, j, f)) : color(l, h, i, j);
    tokens.forEach((e, j) => {
      e.className = [
        ...fixedClass[j].filter((c) => c !== 'hm-head' || !keeps(j)),
        j === (f >= 0 ? f : framedBy(i)) ? 'hm-here' : colored.has(j) ? of(j) : '',
        chosen() && j === s.source && f < 0 ? 'hm-ring' : '',
      ].filter(Boolean).join(' ');
      e.removeAttribute('style');
    });
    root.querySelectorAll('.hm-text details').forEach((e) => {
      const ids = idsIn(e);
      e.open = keeps(ids[0]);
      e.querySelector('summary').className = ids.map(of).sort().pop();
    });
  }
  function idsIn(fold) {
    const inner = tokens.indexOf(fold.querySelector('span,u'));
    return range(inner, inner + fold.querySelectorAll('span,u').length);
  }
  // drawMap shows what every head gives the source from the token, or, with fed, at most.
  function drawMap(l, h, i) {
    const f = fed(), j = f >= 0 ? f : source(), t = predictionAt(i);
    const wrote = f < 0 && t >= 0 ? d.wrote[t] : -1, every = d.heads > 16 ? 5 : 1;
    const title = titled('All heads', f >= 0 ? 'largest share of ' : 'share given to ');
    const words = make('span', {}), box = make('div', {});
    const share = (x, k) => f < 0 ? at(x, k, i, j) :
      Math.max(0, ...range(d.first, d.last + 1).filter((q) => q !== j).map((q) => at(x, k, q, j)));
    const row = (x) => '<tr' + (x === wrote ? ' class="hm-wrote"' : '') + '><th scope="row">' +
      (x === wrote ? 'wrote ' : '') + x + '</th>' + range(0, d.heads).map((k) =>
      '<td data-l="' + x + '" data-h="' + k + '" class="' + (classOf(share(x, k)) || 'hm-z') +
      (x === l && k === h ? ' hm-here' : '') + '"></td>').join('') + '</tr>';
    const table = make('table', {
      className: 'hm-map', innerHTML: '<colgroup><col></colgroup><thead><tr><th></th>' +
        range(0, d.heads).map((k) => '<th>' + (k % every ? '' : k) + '</th>').join('') +
        '</tr></thead><tbody>' + range(0, d.layers).reverse().map(row).join('') + '</tbody>',
    });
    table.onpointerover = (event) => {
      const {l: x, h: k} = event.target.dataset;
      if (x) ofLayer.read(x, k, i, {ids: [Math.min(j, seen(i) - 1)]});
    };
    table.onpointerleave = () => ofLayer.read();
    write(words, word(j));
    title.append(words);
    box.append(title, table);
    return box;
  }
  function drawList(l, h, i) {
    const box = make('div', {}), grid = make('div', {className: 'hm-alternatives'});
    const t = predictionAt(i), wrote = t >= 0 ? d.wrote[t] : -1, best = bestOf(i);
    for (const [x, k, j, rank] of best) {
      const cell = make('span', {className: x === wrote ? 'hm-me' : ''});
      const button = make('button', {type: 'button', textContent: x + '.' + k + ' ' + names[j]});
      const bar = make('i', {className: color(x, k, i, j)});
      Object.assign(button.dataset, {l: x, h: k});
      button.setAttribute('aria-pressed', x === l && k === h);
      bar.style.width = Math.max(0, rank / 10) + '%';
      cell.append(button);
      grid.append(cell, bar, make('span', {
        textContent: minus((rank < 0 ? '' : '+') + fixed(rank / 10, 0)),
      }));
    }
    box.append(titled('Heads that look here in particular', 'layer.head, over its habit' +
      (best.some(([x]) => x === wrote) ? ', in bold of layer ' + wrote + ', which wrote it' :
        best.length ? '' : ': none')), grid);
    return box;
  }
  // drawSmall draws every head of the layer from every token; style sheets colour it.
  function drawSmall(l, h) {
    const side = Math.min(T, 64), cell = (x) => Math.floor(x * side / T);
    const picture = (k) => {
      const steps = range(0, side * side).fill(''), paths = {};
      for (let i = 0; i < T; i++) {
        for (let j = 0; j < seen(i); j++) {
          const place = cell(i) * side + cell(j), name = color(l, k, i, j);
          if (name > steps[place]) steps[place] = name;
        }
      }
      steps.forEach((name, place) => {
        if (name) paths[name] = (paths[name] || '') + 'M' + place % side + ' ' +
          Math.floor(place / side) + 'h1v1h-1z';
      });
      return '<button type="button" data-l="' + l + '" data-h="' + k + '"><svg viewBox="0 0 ' +
        side + ' ' + side + '" aria-hidden="true">' + Object.keys(paths).map((name) =>
        '<path class="' + name + '" d="' + paths[name] + '"/>').join('') + '</svg>head ' + k +
        '</button>';
    };
    if (small.layer !== l) small.innerHTML = range(0, d.heads).map(picture).join('');
    small.layer = l;
    [...small.children].forEach((e, k) => e.setAttribute('aria-pressed', k === h));
  }

  let columns = [];
  function go(change) {
    Object.assign(s, change);
    columns = columnsOf();
    const l = layer(), h = head(), i = query(), side = $('side');
    const focused = [...side.querySelectorAll('button')].indexOf(document.activeElement);
    root.classList.toggle('hm-wide', columns.length > 50);
    drawAnswer(l, h, i);
    drawText(l, h, i);
    [l, h].forEach((x, k) => {
      $('tabs').querySelectorAll('b')[k].textContent = (k ? 'head ' : 'layer ') + x;
    });
    ofLayer.draw('Layer ' + l + ', all ' + d.heads + ' heads', 'what each looks at ' +
      (framedBy(i) === i ? 'from' : 'before') + ' “' + names[framedBy(i)] +
      '”, per cent of its attention', range(0, d.heads).map((k) => [k, 'head ' + k]), h);
    ofHead.draw('Layer ' + l + ', head ' + h + ' from every token', 'rows look at columns',
      columns.filter((c) => !c.gap && known(c.ids[0])).map((c) => [c.ids[0], names[c.ids[0]]]),
      fed() < 0 ? i : -1);
    if (small) drawSmall(l, h);
    side.replaceChildren(drawMap(l, h, i), drawList(l, h, i));
    if (focused >= 0) {
      (side.querySelectorAll('button')[focused] || root).focus({preventScroll: true});
    }
    all.setAttribute('aria-checked', Boolean(s.all));
  }
  // open opens a head, if there is one.
  function open(l, h) {
    if (l >= 0 && l < d.layers && h >= 0 && h < d.heads) go({layer: l, head: h});
  }
  const look = (i) => go({query: clamp(Math.max(i, 0), T), fed: false, source: undefined});
  // choose answers a click on token j: a prediction shows from where it is made what heads look at,
  // another token is the source of the map, and once more, or with Shift, what looks at it.
  function choose(j, shift) {
    const i = d.generated ? d.predicted.indexOf(j - m) : predictionAt(j) >= 0 ? j : -1;
    const made = i >= 0 && j >= (d.generated ? m : 0);
    if (s.fed && fed() === j) go({fed: false, source: undefined});
    else if (shift || chosen() && s.source === j || made && i === query()) {
      go({fed: true, source: j});
    } else if (made || j >= seen(query())) look(made ? i : j);
    else go({fed: false, source: j});
  }

  // The parts that the script draws. The buttons go from layer to layer and from head to head, as
  // the arrow keys do.
  const step = (key, by, label, text) => '<button type="button" data-step="' + key + by +
    '" aria-label="the ' + label + '">' + text + '</button>';
  $('tabs').removeAttribute('role');
  $('tabs').classList.add('hm-go');
  $('tabs').innerHTML = '<span>' + step('l', -1, 'layer below', '‹') + '<b></b>' +
    step('l', 1, 'layer above', '›') + '</span><span>' + step('h', -1, 'head before', '‹') +
    '<b></b>' + step('h', 1, 'head after', '›') + '</span>';
  const ofLayer = matrix((k) => [layer(), k, query()]), legend = make('div', {});
  legend.className = 'hm-legend';
  legend.append(...legendOf({kind: 'share', limit: 1, cellDigits: 0, unit: 'share of attention'}));
  $('after').append(legend);
  const ofHead = matrix((i) => [layer(), head(), i]);
  // Where rows are left out, most of each small picture would be empty.
  const small = d.last - d.first === T - 1 && make('div', {className: 'hm-thumbs'});
  if (small) $('after').append(titled('All heads of the layer', 'from every token'), small);
  const all = make('button', {
    type: 'button', className: 'hm-switch', textContent: 'unfold all',
    onclick: () => go({all: !s.all, unfolded: []}),
  });
  all.setAttribute('role', 'switch');
  if (d.columns.some((c) => c[2])) ofLayer.title.after(all);
  paletteMenu(root, d.palettes, s);
  root.classList.add('hm-on');
  root.setAttribute('data-lm-suppress-shortcuts', 'true');
  root.setAttribute('aria-label', 'heads: left and right choose a token, up and down a layer, ' +
    'with Shift left and right a head, Enter shows what looks at the token, Escape goes back');
  root.addEventListener('click', (event) => {
    const on = (what) => event.target.closest(what), fold = on('.hm-text summary');
    const j = tokens.indexOf(on('.hm-text :is(span,u)'));
    const by = on('[data-step]'), to = on('[data-l]');
    if (fold) {
      event.preventDefault();
      go({unfolded: [...s.unfolded, ...idsIn(fold.parentElement)]});
    } else if (by) {
      const [key, ahead] = [by.dataset.step[0], Number(by.dataset.step.slice(1))];
      open(layer() + (key === 'l' ? ahead : 0), head() + (key === 'h' ? ahead : 0));
    } else if (to) open(Number(to.dataset.l), Number(to.dataset.h));
    else if (j >= 0 && !String(getSelection())) choose(j, event.shiftKey);
  });
  root.addEventListener('keydown', (event) => {
    const held = event.altKey || event.ctrlKey || event.metaKey;
    if (held || event.target.closest('button,summary')) return;
    const ahead = $('text').dir === 'rtl' ? -1 : 1, i = query();
    const side = (by) =>
      event.shiftKey ? () => open(layer(), head() + by) : () => look(i + by * ahead);
    const act = {
      ArrowLeft: side(-1), ArrowRight: side(1), ArrowUp: () => open(layer() + 1, head()),
      ArrowDown: () => open(layer() - 1, head()), Home: () => look(0), End: () => look(T - 1),
      Enter: () => go({fed: !s.fed}),
      Escape: () => go({layer: undefined, head: undefined, source: undefined, fed: false}),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });
  $('details').open = false;  // it was open for readers without a script
  keepOpen(root, s.open);
  go({});
}
begin('.hm-heads', start);
