// Adds touch to a picture that is complete without it: choosing tokens, methods and layers. All
// text comes from the elements of the picture and is set as text, never as markup. The attribute
// data-hw has numbers only; data.go says what each of its fields is. Nothing is requested.
// common.js stands before it.

// Below, v is a method as data.go describes it; t is a target, k a level of layers, x a value.
const shown = (v, t) => v.l ? v.l[t] : 0;
// layerName names the layers that the values of level k are about: rollout, flow and scorers combine those below.
const layerName = (v, k) => (v.o ? 'up to layer ' : 'layer ') + v.L[k];
// decode returns the paints of a code, as coarse of data.go writes them.
function decode(code) {
  const out = [];
  for (let i = 0; i < code.length; i++) {
    const n = digit[code.charCodeAt(i)];
    if (n > 13) for (let run = n - 13; run; run--) out.push(0);
    else out.push(n === 13 ? none : n - levels);
  }
  return out;
}
// limit is the end of the scale; step is the paint of a value.
const limit = (v) => v.u === 1 ? Math.log2(v.lim) : v.lim;
function step(v, x, end) {
  if (x !== x) return none;
  const y = Math.min(Math.abs(x) / (end || limit(v)), 1);
  return Math.sign(x) * Math.round(levels * y);
}
// fixed is as in scale.go: no digits from 100 on, and no sign before 0.
function fixed(x, digits) {
  const text = x.toFixed(Math.abs(x) >= 99.95 ? 0 : digits);
  return /[1-9]/.test(text) ? text : text.replace('-', '');
}
// scaled is a value as a reader sees it: in percent, as a factor, or as it is. unit adds its signs.
const scaled = (v, x) => v.u === 0 ? 100 * x : v.u === 1 ? 2 ** x : x;
const unit = (v, x, text) => (v.u === 1 ? '×' : v.g && x > 0 && /[1-9]/.test(text) ? '+' : '') + text + (v.u === 0 ? ' %' : '');
// format writes a value as value of scale.go does; t is its row.
function format(v, x, t) {
  if (x === undefined) return '';
  if (x !== x) return 'NaN';
  const digits = v.F ? v.F[t] : v.f, y = Math.abs(scaled(v, x)), power = (text) => text.replace(/e([+-])(\d)$/, 'e$10$2');
  if (v.u === 2 && v.pw) return unit(v, x, x && y < 1e-4 ? power((+x.toPrecision(3)).toExponential()) : '' + +x.toPrecision(3));
  if (v.u && y >= 1e4) return unit(v, x, power(scaled(v, x).toExponential(1)));
  return unit(v, x, fixed(scaled(v, x), v.u && y >= 10 ? 1 : digits));
}
// about says what is known of a value that was read back from its paint: that of a step of the scale.
function about(v, x) {
  if (x === undefined || x !== x) return format(v, x);
  const half = limit(v) / levels / 2, low = v.u === 1 || v.g ? -Infinity : 0;
  const end = (y) => unit(v, y, String(+scaled(v, y).toPrecision(2)));
  if (Math.abs(x) > limit(v) - half) return end(x - Math.sign(x) * half) + (x < 0 ? ' or less' : ' or more');
  return end(Math.max(x - half, low)).replace(' %', '') + ' to ' + end(x + half);
}
// cell is the number in a cell of a matrix: x, or one digit of what its paint stands for.
function cell(v, n, x) {
  if (n === none) return 'NaN';
  const shown = scaled(v, x === undefined ? n / levels * limit(v) : x) / 10 ** (v.pw || 0);
  return x === undefined ? '' + +shown.toPrecision(1) : fixed(shown, v.c);
}

function start(root) {
  const d = JSON.parse(root.dataset.hw), extra = d.G || 0;
  const paintStyle = (n) => n ? 'background:' + colors(n) : '';
  const text = root.querySelector('.hw-t'), say = root.querySelector('.hw-s');
  // The folds of the static picture are those of one row; fold makes them for any.
  text.querySelectorAll('details').forEach((e) => {
    e.querySelector('summary').remove();
    e.replaceWith(...e.childNodes);
  });
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const map = root.querySelector('img.hw-f');
  const views = [...root.querySelectorAll('.hw-v')];
  const names = views.map((v) => v.querySelector('.hw-n').textContent);
  const blocks = [...root.querySelectorAll('.hw-d')];
  const header = [...root.querySelectorAll('.hw-m .hw-c th')].slice(0, d.m + extra);
  // columns is how many cells a line of an image has. Outside of a table a line divides the prompt
  // from the generated tokens: gap is 1 there, and column the place of token j.
  const gap = (img) => extra && !img.closest('table') ? 1 : 0, column = (img, j) => j < d.m ? j : j + gap(img);
  const columns = (img) => d.m + (img.closest('table') && !d.d[views.indexOf(img.closest('.hw-v'))].q ? 0 : extra + gap(img));
  // What is chosen: the method, the token or the source, the layer of each method, and what is open.
  const s = choices(d.id, root, {level: {}, open: {}, all: d.a});
  let colors = colorsOf(paletteOf(d, s));
  // first returns for each token the first one of its span. A code has for each prompt token how many
  // tokens the one before it in its span is back; 0 begins a span. Generated tokens stay tokens.
  function first(code) {
    const all = [];
    tokens.forEach((_, j) => {
      const back = code && j < d.m && digit[code.charCodeAt(j)];
      all[j] = back ? all[j - back] : j;
    });
    return all;
  }
  const word = first(d.W), sentence = first(d.S);
  // members has the tokens of each span, at its first token.
  const members = (spans) => spans.reduce((all, f, j) => ((all[f] = all[f] || []).push(j), all), []);
  const ofWord = members(word), ofSentence = members(sentence);
  // parts are the spans that are shown as one, undefined for tokens.
  const parts = () => s.words ? word : s.sentences ? sentence : undefined;

  const method = () => names.includes(s.method) ? names.indexOf(s.method) : d.v;
  const target = () => s.token < d.n ? s.token : d.t;
  const source = () => s.source < tokens.length ? s.source : -1;
  const place = (t) => d.p ? d.p[t] : d.m + t;
  // A layer that was chosen in an earlier run of the cell may not be there any more.
  const picked = (i) => d.d[i].k && s.level[names[i]] < d.d[i].L.length;
  const level = (i, t) => picked(i) ? s.level[names[i]] : shown(d.d[i], t);

  // sources is how many sources target t has: the prompt, then the generated tokens before it.
  const sources = (v, t) => d.m + (v.y ? t + v.y - 1 : 0);
  // one returns the value of source j for target t at the level shown; undefined if unknown.
  function one(v, t, j) {
    const size = v.W ? 3 : 2, most = v.W ? 131071 : 2047, at = size * (t * d.m + (v.y ? t * (t - 1) / 2 + t * (v.y - 1) : 0) + j);
    if (!v.w || at >= v.w.length || j >= sources(v, t)) return undefined;
    const code = v.W ? 4096 * digit[v.w.charCodeAt(at)] + pair(v.w, at + 1) : pair(v.w, at);
    return code ? (code - most - 1) / most * v.top : NaN;
  }
  // A target is no source of itself in colours.
  const itself = (t, j) => d.o && j === d.m + t;
  const greys = d.d.map((v) => new Set(v.s)), isGrey = (i, t, j) => greys[i].has(j) || d.d[i].h && d.d[i].h[t] === j || itself(t, j), silent = d.d.map((v) => new Set(v.z));
  // onFirst says that attention may rest on the first token, whatever a row is about: its values are shares.
  const onFirst = (i) => { const v = d.d[d.a ? 0 : i]; return !(v.u || v.g || d.p || d.g); };
  // A sink is in no word and no sentence, and neither is such a first token. together has the tokens whose value
  // a token has in row t: those of its word or sentence where these are shown, else itself.
  const apart = (i, t, j) => !s.sinks && (isGrey(i, t, j) || !j && onFirst(i));
  const whole = (j) => (s.words ? ofWord : ofSentence)[parts()[j]];
  const together = (i, t, j) => parts() && !apart(i, t, j) ? whole(j).filter((k) => !apart(i, t, k)) : [j];
  // value is that of the whole word or sentence where these are shown.
  function value(i, t, j) {
    const v = d.d[i];
    // The highest value of one side minus that of the other is no value of the difference.
    if (v.x && d.a && i === 2 && parts()) {
      const a = value(0, t, j), b = value(1, t, j);
      return a === undefined || b === undefined ? undefined : a - b;
    }
    let x;
    for (const k of together(i, t, j)) {
      const y = one(v, t, k);
      x = x === undefined ? y : y === undefined ? x : v.x ? Math.max(x, y) : x + y;
    }
    return x;
  }
  // end is that of the scale of the text: in words and sentences about the largest value of any. endOf finds it.
  let end;
  function endOf(i) {
    let top = 0;
    for (let q = d.a ? 0 : i; parts() && d.d[i].u !== 1 && q <= (d.a ? 2 : i); q++) {
      for (let t = 0; t < d.n; t++) for (let j = silent[q].has(t) ? tokens.length : 0; j < tokens.length; j++) {
        if (together(q, t, j)[0] === j && (s.sinks || !isGrey(q, t, j))) top = Math.max(top, Math.abs(value(q, t, j)) || 0);
      }
    }
    return +top.toPrecision(2) || limit(d.d[i]);
  }
  // coarse returns the paints of row t at a level.
  const decoded = {};
  function coarse(i, t, k) {
    const v = d.d[i], flat = v.r && (!v.k || k === shown(v, t)), key = i + ' ' + t + ' ' + !!flat;
    const row = decoded[key] = decoded[key] || decode(((flat ? v.r : v.k) || [])[t] || '');
    const width = v.q ? sources(v, t) : d.m;
    return (j) => flat ? row[j] || 0 : j < width && row[k * width + j] || 0;
  }
  const sinksShown = (i) => s.sinks && d.d[i].w && (d.d[i].s || d.d[i].h);
  // painter returns the paints of row t at a level.
  function painter(i, t, k) {
    const v = d.d[i];
    const other = k !== shown(v, t), row = other || !v.w ? coarse(i, t, k) : null;
    return (j, words) => {
      const sink = isGrey(i, t, j);
      if (sink && !sinksShown(i)) return grey;
      // A silent row has no colours but those of its sinks, where these are shown.
      if (!sink && !other && silent[i].has(t)) return 0;
      if (row) return row(j);
      const x = words ? value(i, t, j) : one(v, t, j);
      return x === undefined ? 0 : step(v, x, words && end);
    };
  }
  // estimate is a value read back from its paint, at any level.
  function estimate(i, t, j, k = level(i, t)) {
    const v = d.d[i], n = coarse(i, t, k)(j);
    return n === none ? NaN : n / levels * limit(v);
  }
  const exact = (i, t) => d.d[i].w && level(i, t) === shown(d.d[i], t);
  // known is undefined for a source that a target does not have, or whose value is not known.
  const known = (i, t, j) => j >= (d.d[i].q || level(i, t) === shown(d.d[i], t) ? sources(d.d[i], t) : d.m) ? undefined
    : exact(i, t) ? value(i, t, j) : estimate(i, t, j);
  const number = (i, t, j) => (exact(i, t) ? format : about)(d.d[i], known(i, t, j), t);

  const name = (index) => isolate(tokens[index].textContent);
  const rowName = (t) => d.p && d.p[t] < 0 ? String(t + 1) : name(place(t));

  function drawText(i, t, j) {
    const row = painter(i, t, level(i, t)), chosen = j < 0 ? place(t) : j;
    const framed = j >= 0 && exact(i, t) ? together(i, t, j) : [chosen];
    const by = j < 0 ? null : tokens.map(() => 0), paints = [];
    if (by) for (let k = 0; k < d.n; k++) if (place(k) >= 0) by[place(k)] = painter(i, k, level(i, k))(j, parts());
    tokens.forEach((e, index) => {
      const n = by ? by[index] : row(index, parts());
      const css = paintStyle(n);
      style(e, !framed.includes(index) ? css : (css && css + ';') + 'outline:2px solid');
      if (e.title) e.title = '';
      paints[index] = n;
    });
    if (map) drawMap(paints, chosen);
  }
  // drawMap draws the text as a strip and folds the stretches of it in which nothing stands out.
  function drawMap(paints, chosen) {
    raster(map, 1, () => (j) => paints[j], tokens.length);
    mark(map.parentElement, chosen / tokens.length, 0, 1 / tokens.length, 1);
    const stays = new Uint8Array(tokens.length), kept = s.kept || {};
    paints.forEach((n, j) => { if (n || j === chosen) stays.fill(1, Math.max(j - 6, 0), j + 7); });
    const at = tokens[chosen], top = at && at.getBoundingClientRect().top;
    text.querySelectorAll('.hw-b').forEach((e) => e.remove());
    for (let first = 0, end; first < tokens.length; first = end + 1) {
      for (end = first; end < tokens.length && !stays[end] && !kept[end];) end++;
      const folded = end - first >= 24;
      for (let e = tokens[first]; e && e !== tokens[end]; e = e.nextElementSibling) if (e.hidden !== folded) e.hidden = folded;
      if (tokens[end] && tokens[end].hidden) tokens[end].hidden = false;
      if (folded) fold(first, end);
    }
    if (at) text.scrollTop += at.getBoundingClientRect().top - top;
  }
  function keep(first, end) {
    s.kept = s.kept || {};
    for (let j = Math.max(first, 0); j < end; j++) s.kept[j] = 1;
    draw();
  }
  // fold puts a button before a stretch that is folded.
  function fold(first, end) {
    const box = make('span', {className: 'hw-b'});
    box.append(' ', make('button', {type: 'button', textContent: '… ' + (end - first) + ' tokens …', onclick: (event) => {
      event.stopPropagation();
      keep(first, end);
      text.focus({preventScroll: true});
    }}));
    tokens[first].before(box);
  }
  // sides says which sources speak for a token and which against it, in the words of the static sentence
  // (says of textview.go).
  function sides(i, list, below, text) {
    const v = d.d[i], [high, low] = d.a && i === 2 ? ['more in A from', 'more in B from'] :
      v.u === 1 ? ['more than position explains', 'less'] : v.g ? ['for it', 'against it'] : ['most from'];
    const of = (part) => part.map(text).join(', '), above = list.filter((q) => !low || !below(q)), under = list.filter((q) => low && below(q));
    return [above.length && high + ' ' + of(above), under.length && low + ' ' + of(under)].filter((x) => x).join('; ') || 'nothing stands out';
  }
  function drawSentence(i, t, j) {
    const v = d.d[i], k = level(i, t), block = k === shown(v, t) ? blocks[t] : null, part = exact(i, t) && parts();
    // A shorter sentence does not move the lines below it, which a reader may click again.
    say.style.minHeight = block && j < 0 ? '' : say.offsetHeight + 'px';
    say.textContent = '';
    const bold = (text) => make('b', {textContent: text});
    const quote = (index, text = tokens[index].textContent) => quoted(text, index, d.m, d.e && d.e[0]) + ' ';
    // whole quotes the word or sentence of a token where these are shown, a long one by its beginning.
    const named = (index) => {
      if (!part || apart(i, t, index)) return quote(index);
      const all = whole(index), range = document.createRange(), without = all.filter((q) => apart(i, t, q));
      range.setStartBefore(tokens[all[0]]);
      range.setEndAfter(tokens[all[all.length - 1]]);
      return quote(all[0], (range + '').replace(/^(.{39})..+/su, '$1…')) + (without.length ?
        'without ' + quote(without[0]) + (without[1] ? '… ' : '') : '');
    };
    // rests is as restsOn of textview.go.
    const rests = (q, first) => s.sinks && part && whole(q)[1] ? '' : itself(t, q) ? 'itself ' : isGrey(i, t, q) ? 'the sink ' : q || first || v.g || !onFirst(i) ? '' :
      'the first token (attention often rests on it) ';
    const strongest = (list, size) => list.sort((a, b) => size(b) - size(a)).slice(0, 5);
    if (j < 0) {
      const row = painter(i, t, k), colored = (n) => n && n < grey;
      // Words that are coloured may all be tokens.
      const joined = part && tokens.some((_, q) => (part.indexOf(part[q]) !== q || part.lastIndexOf(part[q]) !== q) && (colored(row(q)) || colored(row(q, part))));
      const own = block && block.querySelectorAll('.hw-q')[i], from = (!joined && !sinksShown(i) || silent[i].has(t)) && own;
      const others = block && block.querySelector('.hw-e');
      if (from) say.append(...from.cloneNode(true).childNodes);
      else {
        const list = strongest([...word.keys()].filter((q) => colored(row(q, part)) && !(part && together(i, t, q)[0] < q)), (q) => Math.abs(known(i, t, q)));
        // The sentence begins as that of tokens does. What a row adds up to is the same in words; what changed since
        // the row before names tokens.
        let begin = [bold(rowName(t)), ' · ' + names[i] + (v.L ? ', ' + layerName(v, k) : '') + ': '], below = [];
        if (own) {
          begin = [...own.cloneNode(true).childNodes];
          below = begin.filter((e) => e.localName === 'div' && !e.textContent.startsWith('since “'));
          begin.splice(begin.findIndex((e) => e.localName === 'b') + 2);
          const e = begin[begin.length - 1], x = e.data;
          e.data = x.slice(0, x.indexOf(': ', x.indexOf(names[i]) + names[i].length) + 2);
          if (part) below.forEach((e) => { e.textContent = e.textContent.replace(/(top \d+) hold/, '$1 tokens hold'); });
        }
        say.append(...begin, sides(i, list, (q) => row(q, part) < 0, (q) => rests(q, list[0]) + named(q) + number(i, t, q)), ...below);
      }
      if (others) say.append(others.cloneNode(true));
      return;
    }
    const fed = [...Array(d.n).keys()].filter((q) => known(i, q, j) && painter(i, q, level(i, q))(j, parts()));
    say.append(bold(named(j)), 'as a source, ' + names[i] + ': ' + (strongest(fed, (q) => Math.abs(known(i, q, j))).map((q) =>
      (place(q) < 0 ? rowName(q) + ' ' : quote(place(q))) + number(i, q, j)).join(', ') || 'nothing stands out'));
  }

  // raster draws paints on a canvas that takes the place of an image.
  function raster(img, rows, paints, width) {
    img.hwDraw = () => raster(img, rows, paints, width);
    const c = canvasFor(img), g = c.getContext('2d'), w = c.width / (width || columns(img)), h = c.height / rows;
    for (let r = 0; r < rows; r++) {
      const row = paints(r);
      for (let j = width || !gap(img) ? 0 : -1; j < (width || d.m + extra); j++) {
        const n = j < 0 ? extra && none : row(j);
        if (!n) continue;
        g.fillStyle = brush(g, n, colors(n));
        // A thin line divides the prompt from the generated tokens.
        if (j < 0) g.fillRect(Math.floor((d.m + 0.375) * w), r * h, Math.max(Math.floor(w / 4), 1), h);
        else g.fillRect((width ? j : column(img, j)) * w, r * h, w, h);
      }
    }
  }
  const painted = views.map(() => '');
  function drawMatrix(i, t, j) {
    const view = views[i], v = d.d[i], rows = [...view.querySelectorAll('.hw-r')];
    const now = (picked(i) ? s.level[names[i]] : '') + (sinksShown(i) ? ' sinks' : '');
    if (painted[i] !== now) {
      painted[i] = now;
      view.querySelectorAll('.hw-0').forEach((e) => { e.hidden = picked(i); });
      rows.forEach((r, q) => drawRow(r, painter(i, q, level(i, q)), v, exact(i, q) ? q : -1));
      const img = view.querySelector('img.hw-i');
      if (img) raster(img, d.n, (q) => painter(i, q, level(i, q)));
    }
    const img = view.querySelector('img.hw-i');
    if (img) {
      const part = j < 0 ? [0, t / d.n, 1, 1 / d.n] : [column(img, j) / columns(img), 0, 1 / columns(img), 1];
      mark(img.parentElement, ...part).hidden = j >= d.m + extra;
    }
    // The row stays marked also where a source is shown: the layers are its, and columns do not move.
    rows.forEach((r, q) => r.classList.toggle('hw-x', q === t));
    header.forEach((c, q) => c.classList.toggle('hw-x', q === j));
    drawLayers(i, t, j);
  }
  // drawRow paints a row of a table; t is its target if its exact numbers are known, else -1.
  function drawRow(r, row, v, t) {
    for (let j = 0; j < Math.min(d.m + extra, r.cells.length - 1); j++) {
      const n = row(j), at = r.cells[j + 1];
      style(at, paintStyle(n));
      at.textContent = v && n && n !== grey ? cell(v, n, t < 0 ? undefined : one(v, t, j)) : '';
    }
  }
  const layered = views.map(() => d.t), layersPainted = views.map(() => false);
  function drawLayers(i, t, j) {
    const v = d.d[i], view = views[i], title = view.querySelector('.hw-o');
    if (!title) return;
    const rows = [...view.querySelectorAll('.hw-l')], top = v.k ? v.L.length - 1 : 0, k = level(i, t);
    const stale = t !== layered[i], image = view.querySelector('img.hw-j');
    if (!v.k) {
      title.parentElement.hidden = stale;
      if (image) image.closest('tr,.hw-1').hidden = stale;
    }
    if (v.k && (stale || layersPainted[i] !== !!sinksShown(i))) {
      layered[i] = t;
      layersPainted[i] = !!sinksShown(i);
      title.textContent = rowName(t);
      rows.forEach((r, q) => drawRow(r, layerPainter(i, t, top - q)));
      if (image) raster(image, top + 1, (q) => layerPainter(i, t, top - q));
    }
    const after = title.nextSibling;
    after.data = after.data.replace(/^”.*? l/, '”' + (j < 0 ? '' : (d.e ? ' (' + d.e[0] + ' ' + (t + 1) + ')' : '') + ': what it came from,') + ' l');
    const note = view.querySelector('.hw-u'), layer = view.querySelector('.hw-y');
    layer.title = layer.title || layer.textContent;
    layer.textContent = picked(i) ? layerName(v, k) + (v.y && !v.q ? ', ' + d.e[1] + ' only' : '') : layer.title;
    if (note && v.k) note.textContent = layerName(v, k);
    if (image && v.k) mark(image.parentElement, 0, (top - k) / (top + 1), 1, 1 / (top + 1));
    rows.forEach((r, q) => {
      r.hidden = stale && !v.k;
      if (!v.k) return;
      r.classList.toggle('hw-x', top - q === k);
      r.cells[0].textContent = v.L[top - q];
    });
  }
  const layerPainter = (i, t, k) => {
    const row = coarse(i, t, k);
    return (j) => isGrey(i, t, j) && !sinksShown(i) ? grey : row(j);
  };

  const bar = make('div', {className: 'hw-b'});
  root.querySelectorAll('.hw-b').forEach((e) => e.remove());
  say.before(bar);
  function button(label, pressed, act) {
    const e = make('button', {type: 'button', textContent: label, onclick: () => {
      const at = [...bar.children].indexOf(e);
      act();
      draw();
      (bar.children[at] || text).focus({preventScroll: true});
    }});
    e.setAttribute('aria-pressed', pressed);
    bar.append(e);
  }
  const coloring = colorButton(root, d, s, (from, to) => {
    colors = colorsOf(to);
    recolor(root, from, to);
    draw();
    coloring.focus({preventScroll: true});
  });
  function drawBar(i) {
    bar.textContent = '';
    if (names.length > 1) {
      names.forEach((n, q) => button(n, q === i, () => { s.method = n; }));
      button('all matrices', !!s.all, () => { s.all = !s.all; });
    }
    const v = d.d[i], groups = !d.g && v.w;
    if (groups && word.some((w, j) => w !== j)) button('whole words', !!s.words, () => { s.words = !s.words; s.sentences = false; });
    if (groups && d.S) {
      button('sentences', !!s.sentences, () => { s.sentences = !s.sentences; s.words = false; });
    }
    if (v.w && (v.s || v.h || parts() && onFirst(i))) button('sinks too', !!s.sinks, () => { s.sinks = !s.sinks; });
    if (picked(i)) {
      button(layerName(v, s.level[names[i]]) + ' ✕', true, () => { delete s.level[names[i]]; });
    }
    bar.append(coloring);
  }

  function draw(all) {
    const i = method(), t = target(), j = source(), v = d.d[i];
    end = endOf(i);
    drawBar(i);
    drawText(i, t, j);
    drawSentence(i, t, j);
    addTo(say, exact(i, t) && end !== limit(v) && 'colours of the text end at ' + (v.g ? '±' : '') +
      Number(scaled(v, end).toPrecision(2)) + (v.u ? '' : ' %'));
    views.forEach((e, q) => {
      e.hidden = q !== i && !s.all;
      if ((all || !e.hidden) && d.d[q].lim) drawMatrix(q, t, j);
    });
  }
  // pick chooses the token at a place of the text: as a target if it has a row, else, or if a reader
  // asks what it fed, as a source.
  function pick(index, fed) {
    const t = d.p ? d.p.indexOf(index) : index - d.m;
    if (t >= 0 && !fed) return choose(t);
    s.source = index;
    draw();
  }
  // choose chooses a row: several rows may be of one token.
  function choose(t) {
    if (!(t >= 0 && t < d.n)) return;
    s.token = t;
    s.source = undefined;
    draw();
  }
  function pickLevel(k) {
    const i = method(), v = d.d[i];
    if (!v.k || !(k >= 0 && k < v.L.length)) return;
    if (s.level[names[i]] === k) delete s.level[names[i]];
    else s.level[names[i]] = k;
    draw();
  }

  const cursor = () => source() < 0 ? place(target()) : source();
  say.setAttribute('aria-live', 'polite');
  text.onclick = (event) => {
    const index = tokens.indexOf(event.target.closest('.hw-t > *'));
    if (index >= 0) pick(index, event.shiftKey || place(target()) === index && source() < 0);
  };
  listen(text, 'tokens: left and right choose a token, up and down a layer, Enter shows what the token fed and goes back', ({key}) => {
    const i = method(), last = tokens.length - 1, ahead = text.dir === 'rtl' ? -1 : 1;
    const go = (by) => pick(clamp(cursor() + by, tokens.length));
    const act = {
      ArrowLeft: () => go(-ahead),
      ArrowRight: () => go(ahead),
      Home: () => pick(0),
      End: () => pick(last),
      ArrowUp: () => pickLevel(level(i, target()) + 1),
      ArrowDown: () => pickLevel(level(i, target()) - 1),
      Enter: () => { s.source = source() < 0 ? place(target()) : undefined; draw(); },
      Escape: () => { s.source = undefined; s.level = {}; draw(); },
    }[key];
    return act && (() => {
      act();
      tokens[Math.max(cursor(), 0)].scrollIntoView({block: 'nearest'});
    });
  });
  text.onpointerover = (event) => {
    const index = tokens.indexOf(event.target), i = method(), t = target(), j = source();
    if (index < 0) return;
    const q = d.p ? d.p.indexOf(index) : index - d.m;
    event.target.title = j < 0 ? number(i, t, index) : q < 0 ? '' : number(i, q, j);
  };
  text.onwheel = text.onpointerdown = () => { s.scroll = text.scrollTop; };

  // centre scrolls a long text, which has a box of its own, to a token.
  const centre = (e) => { if (e) text.scrollTop += e.getBoundingClientRect().top - text.getBoundingClientRect().top - text.clientHeight / 2; };

  // Where a matrix is an image, the pointer has a place on it instead of a cell.
  const at = (x, line) => x < d.m ? x : x >= d.m + line ? x - line : -1;
  function onImage(event, rows) {
    const [x, y] = inside(event, event.target, columns(event.target), rows);
    return [y, at(x, gap(event.target))];
  }
  views.forEach((view, i) => {
    const v = d.d[i], rows = [...view.querySelectorAll('.hw-r')], layers = [...view.querySelectorAll('.hw-l')];
    const raster = (e) => /^(img|canvas)$/.test(e.localName) ? e.parentElement.querySelector('img') : null;
    // pointed says what stands where the pointer is: a target, or in the layers one of them, and its number of a source.
    const pointed = (event) => {
      const e = event.target, row = e.closest('tr'), img = raster(e), deep = img ? img.className === 'hw-j' : layers.includes(row);
      if (deep && !v.k) return '';
      const lines = deep ? v.L.length : d.n;
      const [t, j] = img ? onImage(event, lines) : [(deep ? layers : rows).indexOf(row), e.cellIndex - 1], k = lines - 1 - t;
      if (t < 0 || k < 0 || !(j >= 0 && j < (!deep ? d.m + extra : v.q ? sources(v, target()) : d.m))) return '';
      return (deep ? layerName(v, k) : rowName(t)) + ' ← ' + name(j) + ': ' +
        ((deep ? about(v, estimate(i, target(), j, k)) : number(i, t, j)) || 'nothing');
    };
    view.onclick = (event) => {
      const row = event.target.closest('tr'), img = raster(event.target), text = pointed(event);
      if (rows.includes(row)) choose(rows.indexOf(row));
      else if (layers.includes(row)) pickLevel(layers.length - 1 - layers.indexOf(row));
      else if (img && img.className === 'hw-i') choose(onImage(event, d.n)[0]);
      else if (img && v.k) pickLevel(v.L.length - 1 - onImage(event, v.L.length)[0]);
      addTo(say, text && (i === method() ? '' : names[i] + ', ') + text);
    };
    view.onmousemove = (event) => { event.target.title = pointed(event); };
  });
  if (map) {
    const at = (event) => inside(event, event.target, tokens.length, 1)[0];
    map.parentElement.onclick = (event) => {
      const j = at(event);
      keep(j - 20, Math.min(j + 20, tokens.length));
      centre(tokens[j]);
    };
    map.parentElement.onmousemove = (event) => { if (tokens[at(event)]) event.target.title = name(at(event)); };
  }
  header.forEach((c, j) => { c.onclick = () => pick(j, true); });

  finish(root, d, s, draw);
  // A long text begins where the reader was or at the chosen token.
  if (s.scroll !== undefined) text.scrollTop = s.scroll;
  else centre(tokens[cursor()]);
  // On paper all matrices are shown. One handler serves all pictures that are on the page then.
  root.hwPrint = () => draw(true);
  if (!window.headwaterPrints) {
    window.headwaterPrints = true;
    window.addEventListener('beforeprint', () => {
      document.querySelectorAll('.hw-on').forEach((e) => { if (e.hwPrint) e.hwPrint(); });
    });
  }
}

begin('.hw[data-hw]:not(.hw-heads,.hw-flow,.hw-layers,.hw-maps,.hw-sources)', start);
