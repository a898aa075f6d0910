// Adds touch to a picture of heads that is complete without it: choosing tokens, layers and heads.
// headsData in heads.go has the fields of data. common.js and opened.js stand before it.

// full is the attention of the deepest colour (fullAttention of heads.go).
const full = 0.6;
const standsOut = (x) => x >= full / 2 / levels;
const share = (x) => (100 * x).toFixed(x < 0.9995 ? 1 : 0) + ' %';

function start(root, data) {
  const css = (paint) => paint ? 'background:' + color(paint) : '';
  const text = root.querySelector('.hw-t'), sentence = root.querySelector('.hw-s');
  const tokens = [...text.querySelectorAll(':scope > span, :scope > u')];
  const lines = [...root.querySelectorAll('.hw-g')].reverse();
  const header = [...root.querySelectorAll('.hw-m .hw-c th')];
  const rows = [...root.querySelectorAll('.hw-r')], open = root.querySelector('img.hw-j');
  const title = root.querySelector('.hw-n'), sinks = new Set(data.sinks || []);
  const choice = choices(data.id, root, {open: {}});
  let color = colorsOf(paletteOf(data, choice));
  const query = () => within(choice.query, data.tokens, data.query);
  // first is the layer and the head that a token opens: of the layer that wrote what is predicted
  // there.
  function first(i) {
    const t = data.predicted[i];
    return data.wrote && data.opens[t] >= 0 ? [data.wrote[t], data.opens[t]] :
      [data.layer, data.head];
  }
  const layer = () => within(choice.layer, data.layers, first(query())[0]);
  const head = () => within(choice.head, data.heads, first(query())[1]);
  // The static sentence has exact numbers. The list of heads leaves it: its buttons are not
  // announced with each change, and the one in focus keeps it.
  const atFirst = [...sentence.childNodes].slice(0, -1);
  const list = make('div', {className: 'hw-b'}), below = make('div');
  list.setAttribute('style', 'font-size:12px;margin-top:4px');
  below.append(list);
  sentence.after(below);
  const sourceCount = (i) => data.both ? data.tokens : i + 1;
  const known = (i) => i >= data.first && i <= data.last;

  // bestOf has the heads that are listed for token i: layer, head, token and share of each.
  function bestOf(i) {
    const best = [], numbers = known(i) ? data.best[i - data.first] : [];
    for (let k = 0; k < numbers.length; k += 4) best.push(numbers.slice(k, k + 4));
    return best;
  }
  // exact is the attention that the list names, 0 if it does not; the rows are rounded.
  function exact(l, h, i, j) {
    const named = bestOf(i).find((best) => best[0] === l && best[1] === h && best[2] === j);
    return named ? named[3] / 1e5 : 0;
  }
  // rounded is the attention from token i to token j as the rows have it.
  const rounded = (l, h, i, j) => known(i) && j < sourceCount(i) ?
    valueOf(data.rows[l * data.heads + h][i - data.first], j) : 0;
  const attention = (...cell) => exact(...cell) || rounded(...cell);
  function paintOf(l, h, i, j) {
    if (!known(i) || j >= sourceCount(i)) return 0;
    return sinks.has(j) ? grey : Math.min(Math.round(rounded(l, h, i, j) / full * levels), levels);
  }
  const percent = (...cell) => exact(...cell) ? share(exact(...cell)) :
    '≈ ' + (100 * rounded(...cell)).toFixed(0) + ' %';
  const name = (j) => quoted(tokens[j].textContent, j, data.promptTokens, 'generated');
  // predictedAt is the text of the token that is predicted at token i.
  const predictedAt = (i) => isolate(tokens[data.promptTokens + data.predicted[i]].textContent);

  // With choice.fed, the chosen token is shown as a source: those that look at it have colours.
  function drawText(l, h, i) {
    tokens.forEach((token, j) => {
      const colored = css(choice.fed ? paintOf(l, h, j, i) : paintOf(l, h, i, j));
      style(token, j !== i ? colored : (colored && colored + ';') + 'outline:2px solid');
    });
  }
  const strongest = (found, cellOf) => {
    found.sort((a, b) => attention(...cellOf(b)) - attention(...cellOf(a)));
    return found.slice(0, 5).map((j) => (sinks.has(j) && !choice.fed ? 'the sink ' : '') +
      name(j) + ' ' + percent(...cellOf(j))).join(', ');
  };
  function drawSentence(l, h, i) {
    sentence.textContent = '';
    const bold = make('b', {textContent: name(i)}), place = 'layer ' + l + ', head ' + h;
    if (choice.fed) {
      const from = data.first > 0 ? ' of the tokens from ' + name(data.first) + ' on' : '';
      const targets = [...tokens.keys()].filter((q) => standsOut(attention(l, h, q, i)));
      sentence.append(bold, ' as a source, ' + place + ': ' +
        (strongest(targets, (q) => [l, h, q, i]) || 'nothing stands out') + from);
      return;
    }
    if (!known(i)) {
      sentence.append(bold, ': there was no room for what the heads look at from here');
      return;
    }
    if (l === data.layer && h === data.head && i === data.query) {
      sentence.append(...atFirst);
      return;
    }
    const where = data.predicted[i] < 0 || data.both ? '' :
      ', where “' + predictedAt(i) + '” is predicted';
    const sources = [...Array(sourceCount(i)).keys()].filter((j) =>
      standsOut(attention(l, h, i, j)));
    sentence.append(bold, where + ' · ' + place + ' looks at ' +
      (strongest(sources, (j) => [l, h, i, j]) ||
        'many tokens, none of which has 5 % of its attention'));
  }
  function drawList(i) {
    const buttons = () => [...list.querySelectorAll('button')];
    const focused = buttons().indexOf(document.activeElement);
    list.textContent = '';
    if (!known(i)) return;
    const best = bestOf(i), wrote = data.wrote ? data.wrote[data.predicted[i]] : -1;
    const all = ' that look at one token more from here than from other tokens';
    const part = (what) => list.appendChild(make('div', {textContent: what + ': '}));
    let writers, others;
    if (!best.length) part('heads' + all).append('none');
    for (const [l, h, j, hundredThousandths] of best) {
      const button = make('button', {
        type: 'button',
        textContent: l + '.' + h + ' ' + name(j) + ' ' + share(hundredThousandths / 1e5),
        title: 'layer ' + l + ', head ' + h,
        onclick: () => pick(l, h),
      });
      button.setAttribute('aria-pressed', l === layer() && h === head());
      if (l === wrote) {
        writers = writers || part('heads (layer.head) of layer ' + l + ', which wrote “' +
          predictedAt(i) + '”');
        writers.append(button);
        continue;
      }
      others = others || part((writers ? 'other heads' : 'heads (layer.head)') + all);
      others.append(button);
    }
    if (focused >= 0) (buttons()[focused] || text).focus({preventScroll: true});
  }
  function drawOpen(l, h) {
    title.textContent = 'layer ' + l + ', head ' + h;
    rows.forEach((row, i) => {
      for (let j = 0; j < data.tokens; j++) {
        const paint = paintOf(l, h, i, j), cell = row.cells[j + 1];
        style(cell, css(paint));
        cell.textContent = paint && paint !== grey ?
          (100 * attention(l, h, i, j)).toFixed(0) : '';
      }
    });
    if (!open) return;
    open.hwDraw = () => drawOpen(l, h);
    const canvas = canvasFor(open), context = canvas.getContext('2d');
    const side = canvas.width / data.tokens;
    for (let i = 0; i < data.tokens; i++) {
      for (let j = 0; j < sourceCount(i); j++) {
        const paint = paintOf(l, h, i, j);
        if (!paint) continue;
        context.fillStyle = color(paint);
        context.fillRect(j * side, i * side, side, side);
      }
    }
  }
  // The buttons go from layer to layer and from head to head, as the arrow keys do.
  const bar = make('div', {className: 'hw-b'}), shown = {};
  for (const [what, arrow, label, l, h] of [
    ['layer', '▾', 'the layer below', -1, 0], ['layer', '▴', 'the layer above', 1, 0],
    ['head', '◂', 'the head before', 0, -1], ['head', '▸', 'the head after', 0, 1],
  ]) {
    if (!shown[what]) bar.append(shown[what] = make('span'), ' ');
    const onclick = () => pick(layer() + l, head() + h, -1);
    const button = make('button', {type: 'button', textContent: arrow, title: label, onclick});
    button.setAttribute('aria-label', label);
    bar.append(button);
  }
  bar.append(colorButton(data, choice, (from, to) => {
    color = colorsOf(to);
    recolor(root, from, to);
    draw();
  }));
  bar.setAttribute('style', 'font-size:13px');
  sentence.before(bar);

  // drawThumbnails marks the open head, and the layer that wrote what is predicted at token i.
  function drawThumbnails(l, h, i) {
    const wrote = data.wrote && !choice.fed ? data.wrote[data.predicted[i]] : undefined;
    lines.forEach((line, k) => {
      line.cells[0].textContent = (k === wrote ? 'wrote ' : '') + k;
      line.classList.toggle('hw-x', k === l);
      const frame = mark(line.querySelector('div'), h / data.heads, 0, 1 / data.heads, 1);
      frame.hidden = k !== l;
      frame.style.outlineWidth = '2px';
    });
  }
  let opened = -1;
  function draw() {
    const l = layer(), h = head(), i = query();
    const size = (j) => sinks.has(j) ? 0 : attention(l, h, i, j);
    shown.layer.textContent = 'layer ' + l;
    shown.head.textContent = 'head ' + h;
    drawText(l, h, i);
    drawSentence(l, h, i);
    drawList(i);
    drawThumbnails(l, h, i);
    // At first the static matrix stays, which has exact numbers.
    const isFirst = opened < 0 && l === data.layer && h === data.head;
    if (opened !== l * data.heads + h && !isFirst) drawOpen(l, h);
    opened = l * data.heads + h;
    rows.forEach((row, q) => row.classList.toggle('hw-x', q === i && !choice.fed));
    header.forEach((cell, j) => cell.classList.toggle('hw-x', j === i && !!choice.fed));
    if (open) {
      markLine(open, i, data.tokens, choice.fed);
      const named = (j) => !choice.fed && standsOut(size(j)) ? size(j) : 0;
      nameColumns(open, data.tokens, named, name);
    } else reveal(rows[i], choice.fed ? i : largest(data.tokens, size));
  }
  function pick(l, h, i) {
    if (i >= 0 && i < data.tokens) {
      choice.query = i;
      choice.fed = false;
    }
    if (l >= 0 && l < data.layers && h >= 0 && h < data.heads) {
      Object.assign(choice, {layer: l, head: h});
    }
    draw();
  }

  sentence.setAttribute('aria-live', 'polite');
  const goBack = () => {
    choice.layer = choice.head = undefined;
    choice.fed = false;
    draw();
  };
  // feeds shows what looks at token i.
  const feeds = (i) => {
    choice.query = i;
    choice.fed = true;
    draw();
  };
  text.onclick = (event) => {
    const j = tokens.indexOf(event.target.closest('.hw-t > *'));
    chooseToken(j, event, query(), choice, (i) => pick(-1, -1, i), feeds);
  };
  header.forEach((cell, j) => { cell.onclick = () => feeds(j); });
  const label = 'tokens: left and right choose a token, up and down a layer, with Shift left ' +
    'and right a head, Enter shows what looks at the token and goes back, Escape goes back to ' +
    'the first head';
  listen(text, label, (event) => {
    const ahead = event.shiftKey ? [0, 1, 0] : [0, 0, text.dir === 'rtl' ? -1 : 1], i = query();
    const move = {
      ArrowLeft: ahead.map((x) => -x), ArrowRight: ahead, ArrowUp: [1, 0, 0],
      ArrowDown: [-1, 0, 0],
    }[event.key];
    if (move && move[2]) return () => pick(-1, -1, i + move[2]);
    if (move) return () => pick(layer() + move[0], head() + move[1], -1);
    return {
      Home: () => pick(-1, -1, 0),
      End: () => pick(-1, -1, data.tokens - 1),
      Escape: goBack,
      Enter: () => { if (choice.fed) pick(-1, -1, i); else feeds(i); },
    }[event.key];
  });
  text.onpointerover = (event) => {
    const j = tokens.indexOf(event.target), i = query();
    if (j < 0) return;
    event.target.title = j < sourceCount(i) && known(i) ? percent(layer(), head(), i, j) : '';
  };
  lines.forEach((line, k) => {
    line.querySelector('td:last-child').setAttribute('style',
      'padding:0;line-height:0;cursor:pointer');
    const headAt = (event) => inside(event, line.querySelector('img'), data.heads, 1)[0];
    line.onclick = (event) => pick(k, headAt(event));
    line.onmousemove = (event) => { line.title = 'layer ' + k + ', head ' + headAt(event); };
  });
  // describe says how much of its attention token i has on token j, nothing if it is not known.
  function describe(i, j) {
    if (!tokens[i] || !tokens[j] || !known(i)) return '';
    return name(i) + ' looks at ' + name(j) + ': ' +
      (j < sourceCount(i) ? percent(layer(), head(), i, j) : '0 %, it comes later');
  }
  const choose = (i, j) => {
    staying(rows[0], () => pick(-1, -1, i));
    addTo(sentence, describe(i, j));
  };
  rows.forEach((row, i) => {
    row.onclick = (event) => choose(i, event.target.cellIndex - 1);
    row.onmousemove = (event) => {
      event.target.title = describe(i, event.target.cellIndex - 1);
    };
  });
  const box = open && open.parentElement;
  if (box) {
    const place = (event) => inside(event, event.target, data.tokens, data.tokens).reverse();
    box.onclick = (event) => choose(...place(event));
    box.onmousemove = (event) => { event.target.title = describe(...place(event)); };
  }
  finish(root, data, choice, () => {
    steady(rows);
    draw();
  });
}

begin('.hw-heads[data-hw]', start);
