// Adds touch to a picture that is complete without it: choosing tokens, methods and layers.
// scriptData in data.go has the fields of data. common.js stands before it.

// Below, view is a method as scriptView of data.go describes it, and i its number; t is a target, j
// a source, k a level of layers, x a value as it is packed: of lifts the logarithm.
const shownLevel = (view, t) => view.shown ? view.shown[t] : 0;
// layerName names the layers that the values of level k are about: rollout, flow and scorers
// combine those below.
const layerName = (view, k) => (view.combined ? 'up to layer ' : 'layer ') + view.layers[k];
// step is the paint of a value on a scale that ends at end.
function step(x, end) {
  if (x !== x) return none;
  return Math.sign(x) * Math.round(levels * Math.min(Math.abs(x) / end, 1));
}
// fixed is as in scale.go: no digits from 100 on, and no sign before 0.
function fixed(x, digits) {
  const text = x.toFixed(Math.abs(x) >= 99.95 ? 0 : digits);
  return /[1-9]/.test(text) ? text : text.replace('-', '');
}
// scaled is a value as a reader sees it: in percent, as a factor, or as it is. withUnit adds its
// signs.
const scaled = (view, x) => view.percent ? 100 * x : view.lift ? 2 ** x : x;
function withUnit(view, x, text) {
  const plus = !view.lift && view.signed && x > 0 && /[1-9]/.test(text);
  return (view.lift ? '×' : plus ? '+' : '') + text + (view.percent ? ' %' : '');
}
// format writes a value as value of scale.go does; t is its row.
function format(view, x, t) {
  if (x === undefined) return '';
  if (x !== x) return 'NaN';
  const digits = view.rowDigits ? view.rowDigits[t] : view.digits;
  const shown = scaled(view, x), size = Math.abs(shown);
  // Go writes an exponent with two digits.
  const exponent = (text) => text.replace(/e([+-])(\d)$/, 'e$10$2');
  if (!view.percent && !view.lift && view.power) {
    const short = +x.toPrecision(3);
    return withUnit(view, x, x && size < 1e-4 ? exponent(short.toExponential()) : String(short));
  }
  if (!view.percent && size >= 1e4) return withUnit(view, x, exponent(shown.toExponential(1)));
  return withUnit(view, x, fixed(shown, !view.percent && size >= 10 ? 1 : digits));
}
// about writes a rounded value.
function about(view, x) {
  if (x === undefined || x !== x) return format(view, x);
  return '≈ ' + withUnit(view, x, String(+scaled(view, x).toPrecision(2)));
}
// cellText is the number in a cell of a matrix, of a rounded value one digit.
function cellText(view, x, rounded) {
  if (x !== x) return 'NaN';
  const shown = scaled(view, x) / 10 ** (view.power || 0);
  return rounded ? String(+shown.toPrecision(1)) : fixed(shown, view.cellDigits);
}

function start(root, data) {
  const promptCount = data.promptTokens, generatedColumns = data.generatedColumns || 0;
  const css = (paint) => paint ? 'background:' + colors(paint) : '';
  const text = root.querySelector('.hw-t'), sentence = root.querySelector('.hw-s');
  // The folds of the static picture are those of one row; fold makes them for any.
  text.querySelectorAll('details').forEach((folded) => {
    folded.querySelector('summary').remove();
    folded.replaceWith(...folded.childNodes);
  });
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const strip = root.querySelector('img.hw-f');
  const views = [...root.querySelectorAll('.hw-v')];
  const names = views.map((view) => view.querySelector('.hw-n').textContent);
  const blocks = [...root.querySelectorAll('.hw-d')];
  const header = [...root.querySelectorAll('.hw-m .hw-c th')]
    .slice(0, promptCount + generatedColumns);
  // Outside of a table a line divides the prompt from the generated tokens: lineOf is 1 there.
  // columnOf is the place of token j in a line of an image, and columnCount how many cells it has.
  const lineOf = (image) => generatedColumns && !image.closest('table') ? 1 : 0;
  const columnOf = (image, j) => j < promptCount ? j : j + lineOf(image);
  function columnCount(image) {
    const view = data.methods[views.indexOf(image.closest('.hw-v'))];
    const promptAlone = image.closest('table') && !(view.own && view.levels);
    return promptCount + (promptAlone ? 0 : generatedColumns + lineOf(image));
  }
  // What is chosen: the method, the token or the source, the layer of each method, and what is
  // open.
  const choice = choices(data.id, root, {level: {}, open: {}, all: data.allMatrices});
  let colors = colorsOf(paletteOf(data, choice));
  // word and sentencePart have for each token the first one of its span. Generated tokens stay
  // tokens.
  const firsts = (starts) =>
    tokens.map((_, j) => starts && j < promptCount ? starts[j] : j);
  const word = firsts(data.words), sentencePart = firsts(data.sentences);
  // members has the tokens of each span, at its first token.
  function members(spans) {
    const all = [];
    spans.forEach((first, j) => (all[first] = all[first] || []).push(j));
    return all;
  }
  const ofWord = members(word), ofSentence = members(sentencePart);
  // parts are the spans that are shown as one, undefined for tokens.
  const parts = () => choice.words ? word : choice.sentences ? sentencePart : undefined;

  const method = () => names.includes(choice.method) ? names.indexOf(choice.method) : data.method;
  const target = () => choice.token < data.targets ? choice.token : data.target;
  const source = () => choice.source < tokens.length ? choice.source : -1;
  const placeOf = (t) => data.positions ? data.positions[t] : promptCount + t;
  const rowOf = (j) => data.positions ? data.positions.indexOf(j) : j - promptCount;
  // A layer that was chosen in an earlier run of the cell may not be there any more.
  function picked(i) {
    const {levels, layers} = data.methods[i];
    return levels && choice.level[names[i]] < layers.length;
  }
  const level = (i, t) => picked(i) ? choice.level[names[i]] : shownLevel(data.methods[i], t);

  // rowAt returns the packed values of row t at level k, undefined if they are not known.
  function rowAt(i, t, k) {
    const view = data.methods[i];
    if (k === shownLevel(view, t)) return view.rows && view.rows[t];
    return view.levels && (view.levels[t] || [])[k];
  }
  // isRounded reports whether those values are rounded.
  const isRounded = (i, t, k) => k === shownLevel(data.methods[i], t) ? data.rounded :
    data.methods[i].levelsRounded;
  // tokenValue returns the value of source j for target t at level k; undefined if it is not known.
  function tokenValue(i, t, j, k = shownLevel(data.methods[i], t)) {
    const row = rowAt(i, t, k);
    return row && j < sizeOf(row) ? valueOf(row, j) : undefined;
  }
  // hasNumbers reports whether the level shown has numbers that are not rounded.
  const hasNumbers = (i) => data.methods[i].rows && !data.rounded;
  // A target is no source of itself in colours.
  const itself = (t, j) => data.greyItself && j === promptCount + t;
  const greySources = data.methods.map((view) => new Set(view.grey));
  const silent = data.methods.map((view) => new Set(view.silent));
  function isGrey(i, t, j) {
    const {rowSinks} = data.methods[i];
    return greySources[i].has(j) || rowSinks && rowSinks[t] === j || itself(t, j);
  }
  // onFirst says that attention may rest on the first token, whatever a row is about: its values
  // are shares.
  function onFirst(i) {
    const {percent, signed} = data.methods[data.allMatrices ? 0 : i];
    return percent && !signed && !data.positions && !data.grouped;
  }
  // A sink is in no word and no sentence, and neither is such a first token. together has the
  // tokens whose value a token has in row t: those of its word or sentence where these are shown,
  // else itself.
  const apart = (i, t, j) => !choice.sinks && (isGrey(i, t, j) || !j && onFirst(i));
  const whole = (j) => (choice.words ? ofWord : ofSentence)[parts()[j]];
  const together = (i, t, j) =>
    parts() && !apart(i, t, j) ? whole(j).filter((q) => !apart(i, t, q)) : [j];
  // value is that of the whole word or sentence where these are shown, at the level shown.
  function value(i, t, j) {
    const {maximum} = data.methods[i];
    // The highest value of one side minus that of the other is no value of the difference.
    if (maximum && data.allMatrices && i === 2 && parts()) {
      const a = value(0, t, j), b = value(1, t, j);
      return a === undefined || b === undefined ? undefined : a - b;
    }
    let x;
    for (const q of together(i, t, j)) {
      const y = tokenValue(i, t, q);
      if (y === undefined) continue;
      x = x === undefined ? y : maximum ? Math.max(x, y) : x + y;
    }
    return x;
  }
  // end is that of the scale of the text: in words and sentences about the largest value of any.
  // endOf finds it.
  let end;
  function endOf(i) {
    const {lift, limit} = data.methods[i];
    if (!parts() || lift) return limit;
    let top = 0;
    for (const q of data.allMatrices ? [0, 1, 2] : [i]) {
      for (let t = 0; t < data.targets; t++) {
        if (silent[q].has(t)) continue;
        for (let j = 0; j < tokens.length; j++) {
          const counts = together(q, t, j)[0] === j && (choice.sinks || !isGrey(q, t, j));
          if (counts) top = Math.max(top, Math.abs(value(q, t, j)) || 0);
        }
      }
    }
    return +top.toPrecision(2) || limit;
  }
  function sinksShown(i) {
    const {grey: sinks, rowSinks} = data.methods[i];
    return choice.sinks && hasNumbers(i) && (sinks || rowSinks);
  }
  // painter returns the paints of row t at a level; of words and sentences only at the level shown.
  function painter(i, t, k) {
    const view = data.methods[i], other = k !== shownLevel(view, t);
    return (j, words) => {
      const sink = isGrey(i, t, j);
      if (sink && !sinksShown(i)) return grey;
      // A silent row has no colours but those of its sinks, where these are shown.
      if (!sink && !other && silent[i].has(t)) return 0;
      const joined = words && !other && hasNumbers(i);
      const x = joined ? value(i, t, j) : tokenValue(i, t, j, k);
      return x === undefined ? 0 : step(x, joined ? end : view.limit);
    };
  }
  const exact = (i, t) => hasNumbers(i) && level(i, t) === shownLevel(data.methods[i], t);
  // known is undefined for a source that a target does not have, or whose value is not known.
  const known = (i, t, j) =>
    exact(i, t) ? value(i, t, j) : tokenValue(i, t, j, level(i, t));
  const write = (i, t, k, x) =>
    isRounded(i, t, k) ? about(data.methods[i], x) : format(data.methods[i], x, t);
  const number = (i, t, j) => write(i, t, level(i, t), known(i, t, j));

  const name = (j) => isolate(tokens[j].textContent);
  const rowName = (t) => data.positions && data.positions[t] < 0 ? String(t + 1) : name(placeOf(t));

  function drawText(i, t, j) {
    const row = painter(i, t, level(i, t)), chosen = j < 0 ? placeOf(t) : j;
    const framed = j >= 0 && exact(i, t) ? together(i, t, j) : [chosen];
    const fed = j < 0 ? null : tokens.map(() => 0), paints = [];
    if (fed) {
      for (let q = 0; q < data.targets; q++) {
        if (placeOf(q) >= 0) fed[placeOf(q)] = painter(i, q, level(i, q))(j, parts());
      }
    }
    tokens.forEach((token, index) => {
      const paint = fed ? fed[index] : row(index, parts()), colored = css(paint);
      const outline = (colored && colored + ';') + 'outline:2px solid';
      style(token, framed.includes(index) ? outline : colored);
      if (token.title) token.title = '';
      paints[index] = paint;
    });
    if (strip) drawStrip(paints, chosen);
  }
  // drawStrip draws the text as a strip and folds the stretches of it in which nothing stands out.
  function drawStrip(paints, chosen) {
    raster(strip, 1, () => (j) => paints[j], tokens.length);
    mark(strip.parentElement, chosen / tokens.length, 0, 1 / tokens.length, 1);
    const stays = new Uint8Array(tokens.length), kept = choice.kept || {};
    paints.forEach((paint, j) => {
      if (paint || j === chosen) stays.fill(1, Math.max(j - 6, 0), j + 7);
    });
    const chosenToken = tokens[chosen];
    const top = chosenToken && chosenToken.getBoundingClientRect().top;
    text.querySelectorAll('.hw-b').forEach((button) => button.remove());
    for (let first = 0, end; first < tokens.length; first = end + 1) {
      for (end = first; end < tokens.length && !stays[end] && !kept[end];) end++;
      const folded = end - first >= 24;
      for (let e = tokens[first]; e && e !== tokens[end]; e = e.nextElementSibling) {
        if (e.hidden !== folded) e.hidden = folded;
      }
      if (tokens[end] && tokens[end].hidden) tokens[end].hidden = false;
      if (folded) fold(first, end);
    }
    if (chosenToken) text.scrollTop += chosenToken.getBoundingClientRect().top - top;
  }
  function keep(first, end) {
    choice.kept = choice.kept || {};
    for (let j = Math.max(first, 0); j < end; j++) choice.kept[j] = 1;
    draw();
  }
  // fold puts a button before a stretch that is folded.
  function fold(first, end) {
    const box = make('span', {className: 'hw-b'});
    const onclick = (event) => {
      event.stopPropagation();
      keep(first, end);
      text.focus({preventScroll: true});
    };
    const textContent = '… ' + (end - first) + ' tokens …';
    box.append(' ', make('button', {type: 'button', textContent, onclick}));
    tokens[first].before(box);
  }
  // sidesOf names the two sides of a method's values, in the words of the static sentence (says of
  // textview.go).
  function sidesOf(i) {
    const view = data.methods[i];
    if (data.allMatrices && i === 2) return ['more in A from', 'more in B from'];
    if (view.lift) return ['more than position explains', 'less'];
    return view.signed ? ['for it', 'against it'] : ['most from'];
  }
  // sides says which sources speak for a token and which against it.
  function sides(i, list, below, textOf) {
    const [high, low] = sidesOf(i);
    const above = list.filter((j) => !low || !below(j));
    const under = list.filter((j) => low && below(j));
    const side = (words, sources) => sources.length && words + ' ' + sources.map(textOf).join(', ');
    return [side(high, above), side(low, under)].filter((x) => x).join('; ') ||
      'nothing stands out';
  }
  const strongest = (list, size) => list.sort((a, b) => size(b) - size(a)).slice(0, 5);
  const bold = (textContent) => make('b', {textContent});
  const quote = (j, quotedText = tokens[j].textContent) =>
    quoted(quotedText, j, promptCount, data.answer) + ' ';
  // namedPart quotes the word or sentence of a token where these are shown, a long one by its
  // beginning.
  function namedPart(i, t, j, part) {
    if (!part || apart(i, t, j)) return quote(j);
    const all = whole(j), range = document.createRange();
    const without = all.filter((q) => apart(i, t, q));
    range.setStartBefore(tokens[all[0]]);
    range.setEndAfter(tokens[all[all.length - 1]]);
    return quote(all[0], String(range).replace(/^(.{39})..+/su, '$1…')) + (without.length ?
      'without ' + quote(without[0]) + (without[1] ? '… ' : '') : '');
  }
  // restsOn is as in textview.go.
  function restsOn(i, t, j, first, part) {
    if (choice.sinks && part && whole(j)[1]) return '';
    if (itself(t, j)) return 'itself ';
    if (isGrey(i, t, j)) return 'the sink ';
    if (j || first || data.methods[i].signed || !onFirst(i)) return '';
    return 'the first token (attention often rests on it) ';
  }
  function drawSentence(i, t, j) {
    const view = data.methods[i], k = level(i, t);
    const block = k === shownLevel(view, t) ? blocks[t] : null, part = exact(i, t) && parts();
    // A shorter sentence does not move the lines below it, which a reader may click again.
    sentence.style.minHeight = block && j < 0 ? '' : sentence.offsetHeight + 'px';
    sentence.textContent = '';
    if (j < 0) {
      sayRow(i, t, k, block, part);
      return;
    }
    const fed = [...Array(data.targets).keys()].filter((q) =>
      known(i, q, j) && painter(i, q, level(i, q))(j, parts()));
    const list = strongest(fed, (q) => Math.abs(known(i, q, j))).map((q) =>
      (placeOf(q) < 0 ? rowName(q) + ' ' : quote(placeOf(q))) + number(i, q, j));
    sentence.append(bold(namedPart(i, t, j, part)), 'as a source, ' + names[i] + ': ' +
      (list.join(', ') || 'nothing stands out'));
  }
  // sayRow says where row t has its values from: in the words of the static picture where it has
  // them.
  function sayRow(i, t, k, block, part) {
    const view = data.methods[i], row = painter(i, t, k);
    const colored = (paint) => paint && paint < grey;
    // Words that are coloured may all be tokens.
    const isJoined = (q) => part.indexOf(part[q]) !== q || part.lastIndexOf(part[q]) !== q;
    const joined = part && tokens.some((_, q) =>
      isJoined(q) && (colored(row(q)) || colored(row(q, part))));
    const own = block && block.querySelectorAll('.hw-q')[i];
    const others = block && block.querySelector('.hw-e');
    if (own && (!joined && !sinksShown(i) || silent[i].has(t))) {
      sentence.append(...own.cloneNode(true).childNodes);
    } else {
      const sources = [...word.keys()].filter((q) =>
        colored(row(q, part)) && !(part && together(i, t, q)[0] < q));
      const list = strongest(sources, (q) => Math.abs(known(i, t, q)));
      const layer = view.layers ? ', ' + layerName(view, k) : '';
      let begin = [bold(rowName(t)), ' · ' + names[i] + layer + ': '], below = [];
      if (own) [begin, below] = aroundList(own, i, part);
      sentence.append(...begin, sides(i, list, (q) => row(q, part) < 0, (q) =>
        restsOn(i, t, q, list[0], part) + namedPart(i, t, q, part) + number(i, t, q)), ...below);
    }
    if (others) sentence.append(others.cloneNode(true));
  }
  // aroundList returns what the static sentence has before its list of sources and below it. What a
  // row adds up to is the same in words; what changed since the row before names tokens.
  function aroundList(own, i, part) {
    const begin = [...own.cloneNode(true).childNodes];
    const below = begin.filter((node) =>
      node.localName === 'div' && !node.textContent.startsWith('since “'));
    begin.splice(begin.findIndex((node) => node.localName === 'b') + 2);
    const last = begin[begin.length - 1], words = last.data;
    const colon = words.indexOf(': ', words.indexOf(names[i]) + names[i].length);
    last.data = words.slice(0, colon + 2);
    if (part) {
      below.forEach((node) => {
        node.textContent = node.textContent.replace(/(top \d+) hold/, '$1 tokens hold');
      });
    }
    return [begin, below];
  }

  // raster draws paints on a canvas that takes the place of an image. paintsOf returns those of a
  // row; an image that is not a matrix has count columns.
  function raster(image, rowCount, paintsOf, count) {
    image.hwDraw = () => raster(image, rowCount, paintsOf, count);
    const canvas = canvasFor(image), context = canvas.getContext('2d');
    const width = canvas.width / (count || columnCount(image)), height = canvas.height / rowCount;
    const line = count ? 0 : lineOf(image);
    for (let r = 0; r < rowCount; r++) {
      const paintOf = paintsOf(r);
      // A thin line divides the prompt from the generated tokens.
      if (line) {
        context.fillStyle = brush(context, none, colors(none));
        context.fillRect(Math.floor((promptCount + 0.375) * width), r * height,
          Math.max(Math.floor(width / 4), 1), height);
      }
      for (let j = 0; j < (count || promptCount + generatedColumns); j++) {
        const paint = paintOf(j);
        if (!paint) continue;
        context.fillStyle = brush(context, paint, colors(paint));
        context.fillRect((count ? j : columnOf(image, j)) * width, r * height, width, height);
      }
    }
  }
  const painted = views.map(() => '');
  function drawMatrix(i, t, j) {
    const view = views[i], rows = [...view.querySelectorAll('.hw-r')];
    const image = view.querySelector('img.hw-i');
    const now = (picked(i) ? choice.level[names[i]] : '') + (sinksShown(i) ? ' sinks' : '');
    if (painted[i] !== now) {
      painted[i] = now;
      view.querySelectorAll('.hw-0').forEach((element) => { element.hidden = picked(i); });
      rows.forEach((row, q) => {
        const k = level(i, q);
        drawRow(row, painter(i, q, k), (c) =>
          cellText(data.methods[i], tokenValue(i, q, c, k), isRounded(i, q, k)));
      });
      if (image) raster(image, data.targets, (q) => painter(i, q, level(i, q)));
    }
    if (image) {
      const count = columnCount(image);
      const part = j < 0 ? [0, t / data.targets, 1, 1 / data.targets] :
        [columnOf(image, j) / count, 0, 1 / count, 1];
      mark(image.parentElement, ...part).hidden = j >= promptCount + generatedColumns;
    }
    // The row stays marked also where a source is shown: the layers are its, and columns do not
    // move.
    rows.forEach((row, q) => row.classList.toggle('hw-x', q === t));
    header.forEach((cell, q) => cell.classList.toggle('hw-x', q === j));
    drawLayers(i, t, j);
  }
  // drawRow paints a row of a table; textOf, if there is one, is the text of a cell with a colour.
  function drawRow(row, paintOf, textOf) {
    const count = Math.min(promptCount + generatedColumns, row.cells.length - 1);
    for (let j = 0; j < count; j++) {
      const paint = paintOf(j), cell = row.cells[j + 1];
      style(cell, css(paint));
      cell.textContent = textOf && paint && paint !== grey ? textOf(j) : '';
    }
  }
  const layered = views.map(() => data.target), layersPainted = views.map(() => false);
  function drawLayers(i, t, j) {
    const {levels, layers, own} = data.methods[i], view = views[i];
    const title = view.querySelector('.hw-o');
    if (!title) return;
    const rows = [...view.querySelectorAll('.hw-l')], image = view.querySelector('img.hw-j');
    const top = levels ? layers.length - 1 : 0, k = level(i, t), stale = t !== layered[i];
    if (!levels) {
      title.parentElement.hidden = stale;
      if (image) image.closest('tr,.hw-1').hidden = stale;
    }
    if (levels && (stale || layersPainted[i] !== !!sinksShown(i))) {
      layered[i] = t;
      layersPainted[i] = !!sinksShown(i);
      title.textContent = rowName(t);
      rows.forEach((row, q) => drawRow(row, layerPainter(i, t, top - q)));
      if (image) raster(image, top + 1, (q) => layerPainter(i, t, top - q));
    }
    const after = title.nextSibling;
    const answer = data.answer ? ' (' + data.answer + ' ' + (t + 1) + ')' : '';
    const isRow = j < 0 ? '' : answer + ': what it came from,';
    after.data = after.data.replace(/^”.*? l/, '”' + isRow + ' l');
    const note = view.querySelector('.hw-u'), layer = view.querySelector('.hw-y');
    layer.title = layer.title || layer.textContent;
    layer.textContent = picked(i) ? layerName(data.methods[i], k) : layer.title;
    if (note && levels) note.textContent = layerName(data.methods[i], k);
    if (image && levels) {
      mark(image.parentElement, 0, (top - k) / (top + 1), 1, 1 / (top + 1));
    }
    rows.forEach((row, q) => {
      row.hidden = stale && !levels;
      if (!levels) return;
      row.classList.toggle('hw-x', top - q === k);
      row.cells[0].textContent = layers[top - q];
    });
  }
  // layerPainter returns the paints of row t at a level among its layers.
  const layerPainter = (i, t, k) => (j) => {
    if (isGrey(i, t, j) && !sinksShown(i)) return grey;
    const {levels, limit} = data.methods[i], row = (levels[t] || [])[k];
    return row && j < sizeOf(row) ? step(valueOf(row, j), limit) : 0;
  };

  const bar = make('div', {className: 'hw-b'});
  root.querySelectorAll('.hw-b').forEach((element) => element.remove());
  sentence.before(bar);
  function addButton(label, pressed, act) {
    const button = make('button', {type: 'button', textContent: label, onclick: () => {
      const at = [...bar.children].indexOf(button);
      act();
      draw();
      (bar.children[at] || text).focus({preventScroll: true});
    }});
    button.setAttribute('aria-pressed', pressed);
    bar.append(button);
  }
  const coloring = colorButton(data, choice, (from, to) => {
    colors = colorsOf(to);
    recolor(root, from, to);
    draw();
    coloring.focus({preventScroll: true});
  });
  function drawBar(i) {
    bar.textContent = '';
    if (names.length > 1) {
      names.forEach((label, q) => addButton(label, q === i, () => { choice.method = label; }));
      addButton('all matrices', !!choice.all, () => { choice.all = !choice.all; });
    }
    const view = data.methods[i], groups = !data.grouped && hasNumbers(i);
    if (groups && word.some((first, j) => first !== j)) {
      addButton('whole words', !!choice.words, () => {
        choice.words = !choice.words;
        choice.sentences = false;
      });
    }
    if (groups && data.sentences) {
      addButton('sentences', !!choice.sentences, () => {
        choice.sentences = !choice.sentences;
        choice.words = false;
      });
    }
    if (hasNumbers(i) && (view.grey || view.rowSinks || parts() && onFirst(i))) {
      addButton('sinks too', !!choice.sinks, () => { choice.sinks = !choice.sinks; });
    }
    if (picked(i)) {
      const label = layerName(view, choice.level[names[i]]) + ' ✕';
      addButton(label, true, () => { delete choice.level[names[i]]; });
    }
    bar.append(coloring);
  }

  function draw(all) {
    const i = method(), t = target(), j = source(), view = data.methods[i];
    end = endOf(i);
    drawBar(i);
    drawText(i, t, j);
    drawSentence(i, t, j);
    if (exact(i, t) && end !== view.limit) {
      addTo(sentence, 'colours of the text end at ' + (view.signed ? '±' : '') +
        Number(scaled(view, end).toPrecision(2)) + (view.percent ? ' %' : ''));
    }
    views.forEach((element, q) => {
      element.hidden = q !== i && !choice.all;
      if ((all || !element.hidden) && data.methods[q].limit) drawMatrix(q, t, j);
    });
  }
  // pick chooses the token at a place of the text: as a target if it has a row, else, or if a
  // reader asks what it fed, as a source.
  function pick(index, fed) {
    const t = rowOf(index);
    if (t >= 0 && !fed) return choose(t);
    choice.source = index;
    draw();
  }
  // choose chooses a row: several rows may be of one token.
  function choose(t) {
    if (!(t >= 0 && t < data.targets)) return;
    choice.token = t;
    choice.source = undefined;
    draw();
  }
  function pickLevel(k) {
    const i = method(), {levels, layers} = data.methods[i];
    if (!levels || !(k >= 0 && k < layers.length)) return;
    if (choice.level[names[i]] === k) delete choice.level[names[i]];
    else choice.level[names[i]] = k;
    draw();
  }

  const cursor = () => source() < 0 ? placeOf(target()) : source();
  sentence.setAttribute('aria-live', 'polite');
  text.onclick = (event) => {
    const index = tokens.indexOf(event.target.closest('.hw-t > *'));
    if (index < 0) return;
    pick(index, event.shiftKey || placeOf(target()) === index && source() < 0);
  };
  const label = 'tokens: left and right choose a token, up and down a layer, ' +
    'Enter shows what the token fed and goes back';
  listen(text, label, ({key}) => {
    const i = method(), last = tokens.length - 1, ahead = text.dir === 'rtl' ? -1 : 1;
    const go = (by) => pick(clamp(cursor() + by, tokens.length));
    const act = {
      ArrowLeft: () => go(-ahead),
      ArrowRight: () => go(ahead),
      Home: () => pick(0),
      End: () => pick(last),
      ArrowUp: () => pickLevel(level(i, target()) + 1),
      ArrowDown: () => pickLevel(level(i, target()) - 1),
      Enter: () => {
        choice.source = source() < 0 ? placeOf(target()) : undefined;
        draw();
      },
      Escape: () => {
        choice.source = undefined;
        choice.level = {};
        draw();
      },
    }[key];
    return act && (() => {
      act();
      tokens[Math.max(cursor(), 0)].scrollIntoView({block: 'nearest'});
    });
  });
  text.onpointerover = (event) => {
    const index = tokens.indexOf(event.target), i = method(), j = source();
    if (index < 0) return;
    const t = rowOf(index);
    event.target.title =
      j < 0 ? number(i, target(), index) : t < 0 ? '' : number(i, t, j);
  };
  text.onwheel = text.onpointerdown = () => { choice.scroll = text.scrollTop; };

  // centre scrolls a long text, which has a box of its own, to a token.
  function centre(token) {
    if (!token) return;
    text.scrollTop += token.getBoundingClientRect().top - text.getBoundingClientRect().top -
      text.clientHeight / 2;
  }

  // Where a matrix is an image, the pointer has a place on it instead of a cell. tokenAt is the
  // token of a column, -1 for the line.
  const tokenAt = (x, line) => x < promptCount ? x : x >= promptCount + line ? x - line : -1;
  function onImage(event, rowCount) {
    const image = event.target, [x, y] = inside(event, image, columnCount(image), rowCount);
    return [y, tokenAt(x, lineOf(image))];
  }
  const imageOf = (element) => /^(img|canvas)$/.test(element.localName) ?
    element.parentElement.querySelector('img') : null;
  views.forEach((view, i) => {
    const {levels, layers} = data.methods[i], rows = [...view.querySelectorAll('.hw-r')];
    const layerRows = [...view.querySelectorAll('.hw-l')];
    // pointed says what stands where the pointer is: a target, or in the layers one of them, and
    // its number of a source.
    function pointed(event) {
      const element = event.target, row = element.closest('tr'), image = imageOf(element);
      const inLayers = image ? image.className === 'hw-j' : layerRows.includes(row);
      if (inLayers && !levels) return '';
      const count = inLayers ? layers.length : data.targets;
      const [t, j] = image ? onImage(event, count) :
        [(inLayers ? layerRows : rows).indexOf(row), element.cellIndex - 1];
      const k = count - 1 - t;
      if (t < 0 || k < 0 || !(j >= 0 && j < promptCount + generatedColumns)) return '';
      if (!inLayers) return rowName(t) + ' ← ' + name(j) + ': ' + (number(i, t, j) || 'nothing');
      const values = rowAt(i, target(), k);
      if (!values || j >= sizeOf(values)) return '';
      const there = write(i, target(), k, tokenValue(i, target(), j, k));
      return layerName(data.methods[i], k) + ' ← ' + name(j) + ': ' + there;
    }
    view.onclick = (event) => {
      const row = event.target.closest('tr'), image = imageOf(event.target);
      const place = pointed(event);
      if (rows.includes(row)) choose(rows.indexOf(row));
      else if (layerRows.includes(row)) pickLevel(layerRows.length - 1 - layerRows.indexOf(row));
      else if (image && image.className === 'hw-i') choose(onImage(event, data.targets)[0]);
      else if (image && levels) pickLevel(layers.length - 1 - onImage(event, layers.length)[0]);
      addTo(sentence, place && (i === method() ? '' : names[i] + ', ') + place);
    };
    view.onmousemove = (event) => { event.target.title = pointed(event); };
  });
  if (strip) {
    const at = (event) => inside(event, event.target, tokens.length, 1)[0];
    strip.parentElement.onclick = (event) => {
      const j = at(event);
      keep(j - 20, Math.min(j + 20, tokens.length));
      centre(tokens[j]);
    };
    strip.parentElement.onmousemove = (event) => {
      if (tokens[at(event)]) event.target.title = name(at(event));
    };
  }
  header.forEach((cell, j) => { cell.onclick = () => pick(j, true); });

  finish(root, data, choice, draw);
  // A long text begins where the reader was or at the chosen token.
  if (choice.scroll !== undefined) text.scrollTop = choice.scroll;
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
