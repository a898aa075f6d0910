// Adds touch to a picture of experts that is complete without it: choosing tokens and layers.
// expertsData in expertspage.go has the fields of data. common.js, scale.js and matrix.js stand
// before it. Rows of the matrix are columns of other pictures: tokens or gaps of the text.

// readingOf returns what a reader chose: the token and the layer, and what the experts are.
function readingOf(data, choice) {
  const {each, layers} = data, tokenCount = data.sources;
  const expertAt = (layer, token, k = 0) => data.numbers[token][layer * each + k];
  const weightAt = (layer, token, k = 0) => data.weights[token][layer * each + k];
  const stepAt = (layer, token, k) => classOf(placeOf(data.scale, weightAt(layer, token, k)));
  const most = (list, size) => list.reduce((best, one) => size(one) > size(best) ? one : best);
  const token = () => within(choice.token, tokenCount, data.token);
  const layer = () => within(choice.layer, layers, token() === data.token ? data.layer :
    most(range(0, layers), (at) => weightAt(at, token())));
  // passes reports whether a token passes experts in a layer.
  const passes = (layer, token) => expertAt(layer, token) >= 0;
  const {layerLabel, layerName} = calledIn(data);
  // alike has for each token in how many layers its first expert is that of another.
  const alike = (of) => range(0, tokenCount).map((other) => range(0, layers).filter(
    (at) => passes(at, of) && expertAt(at, other) === expertAt(at, of)).length);
  const meanOf = (same, of) =>
    (same.reduce((a, b) => a + b) - same[of]) / Math.max(tokenCount - 1, 1);
  const text = textReading(data, choice, () => (other) => other === token());
  const placeName = (token) => token < data.m ? String(token) : text.whereIs(token);
  const {wordOf} = text;
  const plain = (pieces) => pieces.map((piece) => [piece].flat()[0]).join('');
  // expertsOf names the experts of a token in a layer with their weights, of at least that weight.
  const expertsOf = (layer, token, least = -1) => range(0, each)
    .filter((k) => weightAt(layer, token, k) >= least).map((k) => [
      String(expertAt(layer, token, k)),
      [' (' + percent(weightAt(layer, token, k)) + ')', 'span'],
    ]);
  // sentence and facts are what Go says of a token in a layer (sentence and facts in experts.go).
  function sentence(layer, of) {
    const same = alike(of), word = wordOf(of);
    const few = expertsOf(layer, of, 0.35 * weightAt(layer, of)).slice(0, 3);
    const near = range(0, tokenCount).filter((other) => other !== of && same[other]).sort((a, b) =>
      same[b] - same[a] || Math.abs(a - of) - Math.abs(b - of) || a - b)[0];
    return [
      'At ', ...word, ', ' + layerName(layer) + ' ', ...passes(layer, of) ?
        ['used expert' + (few.length > 1 ? 's ' : ' '), ...joined(few)] : ['has no experts'],
      ...near >= 0 ? ['; ' + same[near] + ' of ' + data.mixed +
        ' layers used the same first expert as at ', ...wordOf(near),
      ...plain(wordOf(near)) === plain(word) ? [' (' + placeName(near) + ')'] : []] : [],
    ];
  }
  function facts(layer, of) {
    const expert = expertAt(layer, of);
    const [, took] = data.took[layer].find(([other]) => other === expert) || [];
    return [
      placeName(of), 'other tokens: the same in ' + fixed(meanOf(alike(of), of), 1) + ' of ' +
      data.mixed + ' layers on average', ...took ? ['expert ' + expert + ' took ' + took + ' of ' +
      data.routed[layer] + ' tokens here, an even share is ' + fixed(data.even[layer], 1)] : [],
      ...data.said[of] ? [data.said[of]] : [],
    ].join(' · ');
  }
  return {
    ...text, tokenCount, expertAt, weightAt, stepAt, most, token, layer, passes, alike, meanOf,
    expertsOf, sentence, facts, layerLabel, layerName,
  };
}

function start(root, data) {
  data.weights = data.weights.map(numbersIn);
  run(root, readingOf(data, choices(data.id, root, {unfolded: [], open: {}})));
}

// run draws a picture and answers what a reader does; see run in heatmap.js.
function run(root, reading) {
  const {data, choice, token, layer, tokenCount} = reading;
  const view = Object.assign(viewOf(root, reading), {go}), {find} = view;
  function go(change) {
    Object.assign(choice, change);
    view.columns = reading.columnsNow();
    write(find('say'), reading.sentence(layer(), token()));
    find('facts').textContent = reading.facts(layer(), token());
    [drawText, drawMatrix, drawSide].forEach((draw) => draw(view));
    drawSwitches(root);
  }
  const choose = (token) => go({token: clamp(token, tokenCount), layer: undefined});
  // layered is the view for tables whose columns are layers.
  const layers = range(0, data.layers);
  view.layered = {
    ...view, data: {}, names: layers.map(reading.layerLabel), roles: '',
    isFirstGenerated: () => false, columns: layers.map((at) => ({tokens: [at]})),
    labelOf: ({tokens: [at]}) => reading.layerLabel(at),
  };
  view.matrix = tablePart(view.layered, 'hm-matrix', (row, i) => drawReadout(view, row, i),
    (row, i = choice.layer) => {
      const {tokens, gap} = view.columns[row] || {tokens: [token()]};
      go(gap ? {unfolded: [...choice.unfolded, ...tokens]} : {token: tokens[0], layer: i});
    });
  view.matrix.bar = barOf(...unfoldSwitch(data, choice, go));
  entitle(view.matrix.bar.title, 'First expert of each token', 'a column for each layer');
  find('after').append(view.matrix.bar.bar, view.matrix.hold,
    make('div', {className: 'hm-legend'}, ...legendOf(data.scale)));
  onText(view, choose);
  onKeys(root, () => {
    const ahead = find('text').dir === 'rtl' ? -1 : 1;
    const up = (by) => () => go({layer: clamp(layer() + by, data.layers)});
    return {
      ArrowLeft: () => choose(token() - ahead), ArrowRight: () => choose(token() + ahead),
      ArrowUp: up(1), ArrowDown: up(-1), Home: () => choose(0), End: () => choose(Infinity),
      Escape: () => go({token: undefined, layer: undefined}),
    };
  });
  liven(root, data, choice);
  go({});
}

function drawText(view) {
  const {data, token, alike, meanOf} = view, of = token(), same = alike(of);
  const mean = meanOf(same, of);
  const stepOf = (other) => classOf(
    other === of || mean >= data.mixed ? 0 : Math.max(same[other] - mean, 0) / (data.mixed - mean));
  paintText(view, (other) => [other === of ? 'hm-here' : stepOf(other)],
    (tokens) => tokens.map(stepOf).sort().pop());
}
// shownIn is the token of a row whose first expert has the largest weight.
const shownIn = ({most, weightAt}, {tokens}, layer) =>
  most(tokens, (token) => weightAt(layer, token));
function drawMatrix(view) {
  const {matrix, layered, columns, names, labelOf, token, layer, passes, expertAt, stepAt} = view;
  fillTable(matrix, layered, columns.map((row, key) => ({
    key, name: row.gap ? '⋯ ' + labelOf(row) : names[row.tokens[0]],
    here: row.tokens.includes(token()), cells: layered.columns.map((_, at) => {
      const shown = shownIn(view, row, at);
      return cellOf(layered, at, passes(at, shown) && {
        step: stepAt(at, shown) || 'hm-z', number: String(expertAt(at, shown)), always: true,
      });
    }).join(''),
  })), {marked: ({tokens: [at]}) => at === layer()});
  const line = matrix.table.querySelector('tr.hm-here');
  if (line) matrix.scroll.scrollTop = line.offsetTop - matrix.scroll.clientHeight / 2;
  reveal(matrix, layered, layer());
  drawReadout(view);
}
// drawReadout writes all experts of the cell that the pointer is on, or of the one that is chosen.
function drawReadout(view, row, i = view.layer()) {
  const {matrix, names, columns, token, passes, expertsOf, placed} = view, column = columns[row];
  const of = column ? shownIn(view, column, i) : token();
  write(matrix.bar.readout, [[names[of], 'b'], ', ' + view.layerName(i) + ': ', ...passes(i, of) ?
    expertsOf(i, of).flatMap((part, k) => k ? [', ', ...part] : part) : ['no experts'],
  ' · ' + placed(column || {tokens: [of]}, of).join(' · ')]);
}
// drawSide draws all experts of the token, and how many tokens those of the layer took.
function drawSide(view) {
  const {data, find, names, token, layer, expertAt, weightAt, stepAt, go} = view;
  const of = token(), at = layer(), ks = range(0, data.each);
  const sum = (layer) => ks.reduce((all, k) => all + weightAt(layer, of, k), 0);
  const whole = Math.max(1, ...range(0, data.layers).map(sum));
  const barIn = (layer) => make('span', {}, ...ks.map((k) => {
    const part = barOfPart(weightAt(layer, of, k) / whole, stepAt(layer, of, k) || 'hm-z');
    const number = String(expertAt(layer, of, k));
    part.textContent = weightAt(layer, of, k) / whole > 0.04 * number.length ? number : '';
    return part;
  }));
  const routes = make('div', {className: 'hm-routes'}, ...range(0, data.layers).reverse().flatMap(
    (layer) => [make('button', {
      type: 'button', textContent: view.layerLabel(layer), ariaLabel: view.layerName(layer),
      ariaPressed: layer === at, onclick: () => go({layer}),
    }), view.passes(layer, of) ? barIn(layer) : make('span', {})]));
  const list = data.took[at], own = ks.map((k) => expertAt(at, of, k));
  find('side').replaceChildren(
    titled('Experts of “' + names[of] + '”',
      view.layerName(0) + ' at the bottom, width by weight', routes),
    titled('Load of ' + view.layerName(at), 'tokens of ' + data.routed[at] + ' that each expert ' +
      'took; an even share is ' + fixed(data.even[at], 1) + ', and ' +
      (data.experts - list.length) + ' of ' + data.experts + ' took none',
    barsOf(list.slice(0, 12).map(([expert, count]) => ({
      name: 'expert ' + expert, part: count / list[0][1], number: String(count),
      strong: own.includes(expert),
    })))));
}

begin('.hm-experts', start);
