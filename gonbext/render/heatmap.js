// Adds touch to a heatmap that is complete without it. It draws the parts that need room or a
// choice: the matrix of one method with its folded columns, one line for each method, the layers
// and the alternatives of the chosen row. Sentences come from the lines that the picture has. All
// text is set as text, never as markup. heatmapdata.go describes the data. common.js and
// scale.js stand before it.

// rowsAtOnce is how many rows the matrix has at most; the others are reached by buttons.
const rowsAtOnce = 200;

function start(root, d) {
  const numbers = (row) => range(0, sizeOf(row)).map((j) => valueOf(row, j));
  d.methods.forEach((k) => {
    k.grey = new Set(k.grey);
    k.silent = k.silent || {};
    if (k.rows) k.values = range(0, d.n).map((i) => i < k.has ? numbers(k.rows[i]) : []);
    if (k.layers) k.parts = k.layers.map(numbers);
  });
  run(root, d);
}

function run(root, d) {
  const {m, n, names, roles, methods} = d;
  const $ = (name) => root.querySelector('.hm-' + name);
  const tokens = [...root.querySelectorAll('.hm-text :is(span,u)')];
  const fixedClass = tokens.map((e) => [...e.classList].filter((c) => /^hm-(k|w|head)$/.test(c)));
  const lines = [...root.querySelectorAll('.hm-lines')].map(
    (e) => [...e.children].filter((c) => c.localName === 'div' && c.children.length === 3));
  const shown = new Set(d.columns.filter((c) => !c[2]).map((c) => c[0]));
  const s = choices(d.id, root, {unfolded: [], open: {}});
  const method = () => Math.max(methods.findIndex((k) => k.name === (s.method || d.lead)), 0);
  const row = () => s.row < n ? s.row : d.chosen;
  const fed = () => s.fed < names.length ? s.fed : -1;

  // A row of a method.
  const has = (k, i) => k.values && i < k.has && !k.silent[i];
  const grey = (k, i, j) =>
    k.grey.has(j) || k.sinks && k.sinks[i] === j || d.targets && j === m + i;
  function value(k, i, ids, strongest) {
    let sum;
    for (const j of ids) {
      const x = k.values[i][j];
      if (x === undefined || ids.length > 1 && grey(k, i, j)) continue;
      if (sum === undefined) sum = x;
      else if (strongest) sum = Math.abs(placeOf(k, x)) > Math.abs(placeOf(k, sum)) ? x : sum;
      else sum = k.maximum ? Math.max(sum, x) : sum + x;
    }
    return sum;
  }
  // strongestOf is the largest place that a source of row i has, by its size.
  const strongestOf = (k, i) => has(k, i) ?
    Math.max(...k.values[i].map((x, j) => grey(k, i, j) ? 0 : Math.abs(placeOf(k, x))), 1e-9) :
    1e-9;
  // ranked has the sources of row i that stand out, those with the largest values first.
  function ranked(k, i) {
    const least = strongestOf(k, i) / 12;
    return !has(k, i) ? [] :
                        k.values[i]
                          .map((x, j) => [placeOf(k, x), j])
                          .filter(([p, j]) => !grey(k, i, j) && classOf(p) && Math.abs(p) >= least)
                          .sort((a, b) => b[0] - a[0]);
  }

  // Tokens and their groups. groupOf returns the first token of a token's word, sentence or turn.
  const groupOf = (j) => s.group ? d.groups[s.group][j] : j;
  const members = (j) =>
    s.group ? range(groupOf(j), names.length).filter((x) => groupOf(x) === groupOf(j)) : [j];
  const turnOf = (j) => d.turns.find((t) => j < t[2]) || ['', 0, 0];
  const place = (j) => j >= m ? 'generated ' + (j - m + 1) : (turnOf(j)[0] || d.given) + ' ' + j;
  const textOf = (ids) =>
    ids.map((j, x) => (x && d.spaces[j] === '1' ? ' ' : '') + names[j]).join('');
  const keeps = (j) =>
    shown.has(j) || s.all || s.unfolded.includes(j) || s.template && roles[j] === 't';
  function columns() {
    const list = [];
    for (let j = 0, end; j < d.sources; j = end) {
      end = j + 1;
      if (s.group && s.group !== 'words') {
        while (end < d.sources && groupOf(end) === groupOf(j)) end++;
        list.push({ids: range(j, end)});
      } else if (keeps(j)) {
        while (s.group && end < d.sources && groupOf(end) === groupOf(j) && keeps(end)) end++;
        list.push({ids: range(j, end)});
      } else {
        while (end < d.sources && !keeps(end) && (roles[end] === 'p') === (roles[j] === 'p')) end++;
        list.push({ids: range(j, end), gap: true});
      }
    }
    return list;
  }
  // quote has what stands around token j.
  const quote = (j) =>
    '“' + textOf(range(Math.max(j - 3, 0, turnOf(j)[1]), Math.min(j + 3, turnOf(j)[2]))) + '”';
  function labelOf(c) {
    if (!c.gap) return textOf(c.ids).trim() || names[c.ids[0]];
    if (roles[c.ids[0]] === 'p') return String(c.ids.length);
    return turnOf(c.ids.find((j) => roles[j] === 'y') || last(c.ids))[0] || '';
  }

  const draw = {
    tabs() {
      $('tabs').replaceChildren(...methods.map((k, i) => {
        const tab = make(
          'button', {type: 'button', textContent: k.name, onclick: () => go({method: k.name})});
        tab.setAttribute('role', 'tab');
        tab.setAttribute('aria-selected', i === method());
        return tab;
      }));
    },
    answer() {
      const line = lines[method()] && lines[method()][row()];
      const copy = (to, from) =>
        to.replaceChildren(...[...from.childNodes].map((e) => e.cloneNode(true)));
      if (fed() >= 0) draw.gave();
      else if (line) {
        copy($('say'), line.children[0]);
        copy($('facts'), line.children[1]);
        $('how').textContent = line.children[2].textContent;
      } else {
        const k = methods[method()], list = ranked(k, row()).slice(0, 3);
        $('say').replaceChildren(
          bold(rowName(row())),
          list.length ? ' came from ' + list.map(([, j]) => names[j]).join(', ') :
                        ': nothing stands out');
        $('facts').replaceChildren(k.unit);
      }
    },
    // gave says what a source gave to each row, in place of where a row came from.
    gave() {
      const k = methods[method()], list = given(k).filter(([p]) => p > 0).slice(0, 3),
            say = $('say');
      say.replaceChildren(bold(textOf(members(fed()))));
      if (!list.length) say.append(' stands out for no ' + d.row);
      else
        list.forEach(
          ([, i], x) => say.append(
            x ? x === list.length - 1 ? ' and ' : ', ' : ' went mostly into ', bold(rowName(i))));
      const back = make('button', {
        type: 'button',
        textContent: 'back to where ' + rowName(row()) + ' came from',
        onclick: () => go({fed: -1})
      });
      back.style.color = 'var(--link)';
      $('facts').replaceChildren(place(fed()) + ' · what it gave to each row · ', back);
    },
    text() {
      const k = methods[method()], i = row(), source = fed(), least = strongestOf(k, i) / 12;
      tokens.forEach((e, j) => {
        let p = 0;
        if (source < 0 && has(k, i) && k.values[i][j] !== undefined && !grey(k, i, j)) {
          p = placeOf(k, value(k, i, members(j)));
          if (Math.abs(p) < least) p = 0;
        } else if (source >= 0 && rowAt(j) >= 0 && has(k, rowAt(j)) && !grey(k, rowAt(j), source))
          p = placeOf(k, value(k, rowAt(j), members(source)) || 0);
        const here =
          source >= 0 ? members(source).includes(j) : j === (d.positions ? d.positions[i] : m + i);
        e.className = [...fixedClass[j], here ? 'hm-here' : classOf(p)]
                        .filter((c) => c && !(c === 'hm-head' && keeps(j)))
                        .join(' ');
        e.removeAttribute('style');
      });
      root.querySelectorAll('.hm-text details').forEach((e) => {
        const inner = tokens.indexOf(e.querySelector('span,u')),
              ids = range(inner, inner + e.querySelectorAll('span,u').length);
        e.open = keeps(inner);
        const x = source < 0 && has(k, i) ? value(k, i, ids, true) : undefined;
        e.querySelector('summary').className = x === undefined ? '' : classOf(placeOf(k, x));
      });
    },
    matrix(list) {
      const k = methods[method()], table = $('matrix'), i = row();
      table.className = 'hm-matrix' + (n > 16 ? ' hm-tall' : '');
      table.style.setProperty('--cols', list.length);
      table.replaceChildren(widths(list, 'hm-label'), header(list, true), body(k, list));
      $('readout').parentElement.querySelector('.hm-h').replaceChildren(
        'All ' + d.shown + ' ', make('span', {textContent: '· ' + [k.name, k.layer].join(', ')}));
      draw.legend(k, list);
      table.querySelectorAll('tbody tr').forEach((tr) => {
        const at = Number(tr.dataset.i);
        tr.className = at === i && fed() < 0 ? 'hm-here' : '';
        tr.querySelector('th').textContent = rowName(at);
        const note = tr.querySelector('.hm-note');
        if (note) note.textContent = k.silent[at] || k.wrong || '';
      });
    },
    legend(k, list) {
      $('legend').replaceChildren(
        ...legendOf(k), make('span', {
          textContent: ' · rows: ' + d.shown +
            (list.some((c) => c.gap) ? ' · dotted: folded, coloured by the strongest inside' :
                                       ' · columns: where they came from')
        }));
    },
    strip(list) {
      if (methods.length < 3 || !$('strip')) return;
      const table = $('strip'), i = row();
      $('strip-title').replaceChildren(bold(rowName(i)), ' by every method ', make('span', {
                                         textContent: '· each line on its own scale' + agreement(i)
                                       }));
      table.style.setProperty('--cols', list.length);
      table.replaceChildren(
        widths(list, 'hm-name'), header(list, false), make('tbody', {
          innerHTML:
            methods
              .map(
                (k, x) => '<tr data-k="' + x + '"' + (x === method() ? ' class="hm-here"' : '') +
                  '><th scope="row"></th>' +
                  cells(k, i, list, k.kind === 'lift' ? 0 : strongestOf(k, i) * k.limit) + '</tr>')
              .join('')
        }));
      table.querySelectorAll('tbody tr').forEach((tr, x) => {
        tr.querySelector('th').textContent = methods[x].name;
        const note = tr.querySelector('.hm-note');
        if (note) note.textContent = methods[x].silent[i] || methods[x].wrong || '';
      });
    },
    side() {
      const k = methods[method()], i = row(), side = $('side'), all = [];
      if (fed() >= 0) {
        const list = given(k).slice(0, 10);
        all.push(bars(
          'What it gave', k.unit,
          list.map(([p, at, x]) => [rowName(at), Math.abs(p), format(k, x, at), classOf(p)])));
      } else {
        const others = d.alternatives[i];
        if (others)
          all.push(bars(
            d.others, d.chance,
            others.map(([name, p, me]) => [name, p / others[0][1], percent(p), '', me])));
        if (has(k, i)) all.push(layers(k, i));
      }
      side.replaceChildren(...all);
    },
  };
  const bold = (text) => make('b', {textContent: text});
  const rowName = (i) => d.rowNames ? d.rowNames[i] :
    s.group                         ? textOf(members(m + i)).trim() || names[m + i] :
                                      names[m + i];
  const rowAt = (j) => d.positions ? d.positions.indexOf(j) : j >= m && j - m < n ? j - m : -1;
  const percent = (p) => p >= 0.9995 ? '100 %' :
    p >= 0.1                         ? Math.round(100 * p) + ' %' :
                                       (100 * p).toFixed(1) + ' %';
  // given has what the source shown gave to each row: its place on the scale, the row, and the
  // value.
  const given = (k) => range(0, n)
                         .filter((i) => has(k, i) && !grey(k, i, fed()))
                         .map((i) => [i, value(k, i, members(fed()))])
                         .filter(([, x]) => x !== undefined)
                         .map(([i, x]) => [placeOf(k, x), i, x])
                         .filter(([p]) => classOf(p))
                         .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0]));
  function agreement(i) {
    const votes = new Map(), speak = methods.filter((k) => has(k, i));
    for (const k of speak) {
      const best = ranked(k, i)[0];
      if (best) votes.set(best[1], (votes.get(best[1]) || 0) + 1);
    }
    const [first] = [...votes].sort((a, b) => b[1] - a[1]);
    return first ? ', ' + first[1] + ' of the ' + speak.length + ' that say something put ' +
        names[first[0]] + ' first' :
                   '';
  }
  function widths(list, label) {
    const group = make('colgroup', {});
    group.append(
      make('col', {className: label}),
      ...list.map((c) => make('col', {className: c.gap ? 'hm-gap' : ''})));
    if (label === 'hm-label') group.append(make('col', {className: 'hm-chance'}));
    else group.firstChild.style.width = '128px';
    return group;
  }
  function header(list, bands) {
    const head = make('thead', {}),
          cell = (text, of) => Object.assign(make('th', {}), of, {textContent: text});
    if (bands) {
      const tr = make('tr', {className: 'hm-band'}), who = [];
      for (const c of list) {
        const name = d.positions           ? turnOf(c.ids[0])[0] :
          c.ids[0] >= m                    ? 'generated' :
          c.gap && roles[c.ids[0]] !== 'p' ? '' :
                                             turnOf(last(c.ids))[0] || d.given;
        if (who.length && last(who)[0] === name) last(who)[1]++;
        else who.push([name, 1]);
      }
      tr.append(
        cell('', {}), ...who.map(([name, count]) => cell(count > 3 ? name : '', {colSpan: count})),
        cell('', {}));
      head.append(tr);
    }
    const tr = make('tr', {});
    tr.append(make('th', {}), ...list.map((c, x) => {
      const th = make('th', {
        className: (c.ids[0] === m && !d.positions ? 'hm-first ' : '') +
          (fed() >= 0 && c.ids.includes(fed()) ? 'hm-source' : '')
      });
      th.dataset.c = x;
      th.append(make('div', {
        textContent: labelOf(c),
        className: c.gap || roles[c.ids[0]] === 't' || !/[^␣↵⇥]/.test(names[c.ids[0]]) ?
          'hm-faint' :
          ''
      }));
      return th;
    }));
    if (bands) tr.append(cell('p', {className: 'hm-chance'}));
    head.append(tr);
    return head;
  }
  // cells returns the cells of row i as markup, which has numbers and classes alone.
  function cells(k, i, list, limit) {
    if (!has(k, i)) return '<td class="hm-note" colspan="' + list.length + '"></td>';
    const numbers = list.length <= 24;
    return list
      .map((c, x) => {
        const v = value(k, i, c.ids, c.gap),
              first = c.ids[0] === m && !d.positions ? ' hm-first' : '',
              at = '" data-c="' + x + '">';
        if (v === undefined) return '<td class="' + first + '"></td>';
        if (c.ids.length === 1 && grey(k, i, c.ids[0]))
          return '<td class="hm-sink' + first + at +
            (numbers && !d.hidden.includes(c.ids[0]) && !(d.targets && c.ids[0] === m + i) ?
               inCell(k, v) :
               '') +
            '</td>';
        const name = classOf(placeOf(k, v, limit));
        if (c.gap)
          return '<td class="hm-gap' + at + (name && '<i class="' + name + '"></i>') + '</td>';
        return '<td class="' + (name || 'hm-z') + first + at +
          (numbers && name ? '<b>' + inCell(k, v) + '</b>' : '') + '</td>';
      })
      .join('');
  }
  function body(k, list) {
    const from = n > rowsAtOnce ? Math.min(Math.max(row() - rowsAtOnce / 2, 0), n - rowsAtOnce) : 0;
    return make('tbody', {
      innerHTML: range(from, Math.min(from + rowsAtOnce, n))
                   .map(
                     (i) => '<tr data-i="' + i + '"><th scope="row"></th>' + cells(k, i, list) +
                       '<td class="hm-chance">' +
                       (d.chances[i] === null ? '' : percent(d.chances[i])) + '</td></tr>')
                   .join('')
    });
  }
  function bars(title, note, list) {
    const box = make('div', {}), grid = make('div', {className: 'hm-alternatives'}),
          h = make('div', {className: 'hm-h', textContent: title + ' '});
    h.append(make('span', {textContent: '· ' + note}));
    for (const [name, part, number, color, me] of list) {
      const bar = make('i', {className: color});
      bar.style.width = (100 * part).toFixed(1) + '%';
      grid.append(
        make('span', {textContent: name, className: me ? 'hm-me' : ''}), bar,
        make('span', {textContent: number}));
    }
    box.append(h, grid);
    return box;
  }
  // layers returns the strongest sources of row i, with what every layer gave or has.
  function layers(k, i) {
    const box = make('div', {}), h = make('div', {className: 'hm-h'}),
          table = make('table', {className: 'hm-layers'});
    const of = (j) =>
      make('span', {className: 'hm-faint', textContent: ' ' + (j < m ? j : 'g' + (j - m + 1))});
    let list = ranked(k, i).sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).map(([, j]) => [j, []]),
        count = 0, top = 1;
    if (k.parts) {
      const begin = k.strongest.slice(0, i).reduce((sum, ids) => sum + ids.length, 0);
      count = k.layerNames.length;
      list = k.strongest[i].map((j, x) => [j, k.parts[begin + x]]);
      top = Math.max(
        ...list.flatMap(([, parts]) => parts.map((x) => Math.abs(k.kind === 'lift' ? 0 : x))),
        1e-9);
    }
    list = list.slice(0, 8);
    h.append(count ? 'Layer by layer ' : 'Strongest sources ', make('span', {
               textContent: count ? '· ' +
                   (k.byLayer    ? 'its part' :
                      k.combined ? 'up to each layer' :
                                   'each layer alone') +
                   ', up to ' + format(k, top, i) :
                 k.more ? '· every layer: ' + k.more :
                          ''
             }));
    const group = make('colgroup', {}), rows = make('tbody', {});
    group.append(...range(0, (count || 1) + 2).map(() => make('col', {})));
    group.firstChild.style.width = '88px';
    group.lastChild.style.width = '50px';
    for (const [j, parts] of list) {
      const tr = make('tr', {}), th = make('th', {scope: 'row', textContent: names[j]});
      th.append(of(j));
      tr.append(th);
      if (count)
        parts.forEach(
          (x) => tr.append(make('td', {className: classOf(placeOf(k, x, top)) || 'hm-z'})));
      else {
        const td = make('td', {}),
              bar = make('i', {className: classOf(placeOf(k, k.values[i][j]))});
        bar.style.cssText = 'display:block;height:12px;width:' +
          (100 * Math.abs(placeOf(k, k.values[i][j]))).toFixed(1) + '%';
        td.append(bar);
        tr.append(td);
      }
      tr.append(make('td', {className: 'hm-sum', textContent: format(k, k.values[i][j], i)}));
      rows.append(tr);
    }
    table.append(group, rows);
    if (count > 3) {
      const foot = make('tfoot', {}), tr = make('tr', {}),
            ticks = [0, Math.round(count / 3), Math.round(2 * count / 3), count - 1];
      tr.append(
        make('th', {scope: 'row', textContent: 'layer'}),
        ...ticks.slice(0, 3).map(
          (t, x) => make('td', {colSpan: ticks[x + 1] - t, textContent: k.layerNames[t]})),
        make('td', {colSpan: 2, textContent: k.layerNames[count - 1]}));
      foot.append(tr);
      table.append(foot);
    }
    box.append(h, table);
    return box;
  }
  // read writes what the pointer is on, or the strongest source of the chosen row.
  function read(i, c) {
    const k = methods[method()], best = ranked(k, row())[0];
    if (i === undefined) i = row();
    if (!c)
      c = fed() >= 0 ? {ids: members(fed())} :
        best         ? list.find((e) => e.ids.includes(best[1])) :
                       undefined;
    const line = $('readout');
    if (!c || !has(k, i)) {
      line.replaceChildren(
        bold(rowName(i)), ' · ' + (k.silent[i] || k.wrong || 'nothing stands out'));
      return;
    }
    const x = value(k, i, c.ids, c.gap),
          j = c.gap ? c.ids.find((id) => k.values[i][id] === x) || c.ids[0] : c.ids[0];
    if (x === undefined) line.replaceChildren(bold(labelOf(c)), ' · ' + place(j));
    else
      line.replaceChildren(
        bold(rowName(i)), ' ← ', bold(c.gap ? names[j] : labelOf(c)),
        ' ' + format(k, x, i) + ' · ' + place(j) +
          (m > 30 && !d.positions && !c.gap ? ' · ' + quote(j) : '') +
          (c.gap ? ' · the strongest of ' + c.ids.length + ' folded tokens, click to unfold' :
             grey(k, i, j) ? ' · not in the scale' :
                             '') +
          (d.chances[i] === null ? '' : ' · p ' + percent(d.chances[i])));
  }
  function more() {
    const box = $('scroll'), right = box.getBoundingClientRect().right - 12;
    const hidden = [...box.querySelectorAll('thead th[data-c]')]
                     .filter((th) => th.getBoundingClientRect().left > right)
                     .length;
    $('more').hidden = !hidden;
    $('more').firstChild.textContent = hidden + ' more →';
  }
  let list = [];
  function go(change) {
    Object.assign(s, change);
    list = columns();
    root.classList.toggle('hm-wide', list.length > 50);
    root.classList.toggle('hm-template', Boolean(s.template));
    Object.keys(draw)
      .filter((part) => !['gave', 'legend', 'matrix', 'strip'].includes(part))
      .forEach((part) => draw[part]());
    draw.strip(list);
    draw.matrix(list);
    root.querySelectorAll('.hm-switch')
      .forEach(
        (e) => e.setAttribute(
          'aria-checked',
          e.dataset.group ? s.group === e.dataset.group : Boolean(s[e.dataset.set])));
    const best = fed() < 0 && ranked(methods[method()], row())[0], box = $('scroll');
    const th = best &&
      box.querySelector('th[data-c="' + list.findIndex((c) => c.ids.includes(best[1])) + '"]');
    if (th && th.offsetLeft > box.clientWidth * 0.8)
      box.scrollLeft = th.offsetLeft - box.clientWidth / 2;
    read();
    more();
  }
  function choose(j, source) {
    const i = rowAt(j);
    if (i >= 0 && !source && !(i === row() && fed() < 0)) go({row: i, fed: -1});
    else go({fed: fed() === j ? -1 : j});
  }

  // The parts that the script draws.
  const after = $('after'), bar = make('div', {className: 'hm-bar'});
  const toggle = (text, of, click) => {
    const e =
      make('button', {type: 'button', className: 'hm-switch', textContent: text, onclick: click});
    Object.assign(e.dataset, of);
    e.setAttribute('role', 'switch');
    bar.append(e);
  };
  bar.append(make('div', {className: 'hm-h'}));
  for (const [name, text] of [
         ['words', 'whole words'], ['sentences', 'sentences'], ['turns', 'turns']])
    if (d.groups[name])
      toggle(text, {group: name}, () => go({group: s.group === name ? '' : name}));
  if (d.turns.length > 1 && roles.includes('t') && d.chat)
    toggle('template tokens', {set: 'template'}, () => go({template: !s.template}));
  if (d.columns.some((c) => c[2]))
    toggle('unfold all', {set: 'all'}, () => go({all: !s.all, unfolded: []}));
  if (methods.length > 2)
    after.append(
      make('div', {className: 'hm-h hm-strip-title'}),
      Object.assign(
        make('div', {className: 'hm-scrolls'}), {innerHTML: '<table class="hm-strip"></table>'}));
  bar.append(make('div', {className: 'hm-readout'}));
  bar.lastChild.style.flexBasis = '100%';
  const hold = make('div', {className: 'hm-hold'}), scroll = make('div', {className: 'hm-scroll'}),
        table = make('table', {className: 'hm-matrix'});
  const cross = make('div', {className: 'hm-cross', hidden: true}),
        moreBox = make('div', {className: 'hm-more', hidden: true});
  moreBox.append(make(
    'button', {type: 'button', onclick: () => scroll.scrollBy({left: 260, behavior: 'smooth'})}));
  const inner = make('div', {});
  inner.style.position = 'relative';
  inner.append(table, cross);
  scroll.append(inner);
  hold.append(scroll, moreBox);
  after.append(bar, hold, make('div', {className: 'hm-legend'}));
  paletteMenu(root, d.palettes, s);
  root.classList.add('hm-on');

  root.addEventListener('click', (event) => {
    const at = (query) => event.target.closest(query),
          token = tokens.indexOf(at('.hm-text :is(span,u)'));
    const td = at('.hm-matrix [data-c]'), head = at('th[data-c]'), tr = at('.hm-matrix [data-i]'),
          line = at('.hm-strip [data-k]');
    if (token >= 0 && !String(getSelection())) choose(token, event.shiftKey);
    else if (at('.hm-text summary')) {
      const e = at('details'), inner = tokens.indexOf(e.querySelector('span,u'));
      event.preventDefault();
      go({unfolded: [...s.unfolded, ...range(inner, inner + e.querySelectorAll('span,u').length)]});
    } else if ((td || head) && list[(td || head).dataset.c].gap)
      go({unfolded: [...s.unfolded, ...list[(td || head).dataset.c].ids]});
    else if (head)
      go({fed: fed() === list[head.dataset.c].ids[0] ? -1 : list[head.dataset.c].ids[0]});
    else if (tr) go({row: Number(tr.dataset.i), fed: -1});
    else if (line) go({method: methods[line.dataset.k].name});
  });
  table.addEventListener('pointerover', (event) => {
    const td = event.target.closest('[data-c]'), tr = event.target.closest('[data-i]');
    cross.hidden = !td;
    if (!td) return read();
    cross.style.left = td.offsetLeft + 'px';
    cross.style.width = td.offsetWidth + 'px';
    read(tr ? Number(tr.dataset.i) : undefined, list[td.dataset.c]);
  });
  table.addEventListener('pointerleave', () => {
    cross.hidden = true;
    read();
  });
  root.addEventListener('keydown', (event) => {
    const [x, y] = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      Home: [-Infinity, 0],
      End: [Infinity, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
      Escape: [0, 0]
    }[event.key] ||
      [];
    if (
      x === undefined || event.altKey || event.ctrlKey || event.metaKey ||
      event.target.closest('.hm-scroll'))
      return;
    event.preventDefault();
    event.stopPropagation();
    go({
      fed: -1,
      row: Math.min(Math.max(row() + x, 0), n - 1),
      method: methods[(method() + y + methods.length) % methods.length].name
    });
  });
  root.setAttribute('data-lm-suppress-shortcuts', 'true');
  scroll.addEventListener('scroll', more);
  new ResizeObserver(more).observe(root);
  root.querySelector('.hm-details').open = false;  // it was open for readers without a script
  keepOpen(root, s.open);
  go({});
}
begin('.hm:not(.hm-panels,.hm-flow,.hm-sources,.hm-heads)', start);
