// Adds touch to a picture of heads that is complete without it: choosing tokens, layers and heads.
// headsData in headspage.go has the fields of data. common.js, scale.js and matrix.js stand before
// it.
//
// In all of it, query is the token that a head looks from, and token the one that it looks at.

// attentionOf reads the rows of data.
function attentionOf(data) {
  const {names, m: promptCount} = data, {wordOf} = wordsIn(data), sinks = new Set(data.sinks);
  const {answer, layerName} = calledIn(data);
  const placeName = (token) =>
    token < promptCount ? token : answer + ' ' + (token - promptCount + 1);
  const known = (query) => query >= data.first && query <= data.last;
  const seen = (query) => data.both ? data.sources :
    query < data.begins ? data.begins : query + 1;
  // looks reports whether a layer works on a token: each of two stacks does on its own text.
  const looks = (layer, query) => data.encoder === undefined ||
    layer < data.encoder === query < data.begins;
  // reads reports whether a layer looks at a token: each does at one of two texts. Layers of the
  // decoder look at the target and at the source in turn.
  const reads = (layer, token) => data.encoder === undefined ||
    (layer < data.encoder || (layer - data.encoder) % 2 === 1) === token < data.begins;
  // shareOf is how much of a head's attention from a query is on a token.
  const shareOf = (layer, head, query, token) => known(query) && token < seen(query) ?
    valueOf(data.rows[layer * data.heads + head][query - data.first], token) : 0;
  const stepAt = (layer, head, query, token) =>
    sinks.has(token) ? '' : classOf(shareOf(layer, head, query, token));
  // strongest has those of the tokens that stand out by their share, the strongest first.
  function strongest(tokens, share) {
    const list = tokens.filter((token) => classOf(share(token)))
      .sort((a, b) => share(b) - share(a));
    return list.filter((token) => share(token) >= share(list[0]) / 12);
  }
  // lookedAt are the tokens that a head looks at, and lookers those from which it looks at one.
  const lookedAt = (layer, head, query) => strongest(
    range(0, seen(query)).filter((token) => !sinks.has(token)),
    (token) => shareOf(layer, head, query, token));
  const lookers = (layer, head, token) => strongest(
    range(data.first, data.last + 1), (query) => shareOf(layer, head, query, token));
  // named lists the tokens with the largest shares. Equal words have their places.
  function named(list, share) {
    const few = list.slice(0, 3).filter((token) => share(token) >= 0.35 * share(list[0]));
    const text = (token) => wordOf(token).map(([part]) => part).join('');
    const isRepeated = (token) => few.some(
      (other) => other !== token && text(other) === text(token));
    return joined(few.map((token) => [
      ...wordOf(token), ...isRepeated(token) ? [' (' + placeName(token) + ')'] : [],
      [' ' + percent(share(token), data.coarse), 'span'],
    ]));
  }
  // writesAt is what every head wrote into the logit of what is predicted at a query, undefined
  // where that is not known; top is the largest size, of the deepest colour.
  const written = (data.writes || []).map((packed) => {
    const heads = packed && numbersIn(packed);
    return packed && {heads, top: Math.max(...heads.map(Math.abs)) || 1};
  });
  const writesAt = (query) => written[data.predicted[query]] || undefined;
  const wroteOf = (writes, layer, head) => writes.heads[layer * data.heads + head];
  const wroteText = (value) => format({kind: 'amount', signed: true, digits: 2}, value);
  // sentence tells what a head wrote and where it looks from a query, in the words of data.
  function sentence(layer, head, query) {
    const share = (token) => shareOf(layer, head, query, token), {says} = data;
    const list = lookedAt(layer, head, query), [inLayer, best] = data.opens[query - data.first];
    const rest = data.sinks.filter((sink) => share(sink) > 0.5), writes = writesAt(query);
    const [before, after] = inLayer === layer && best === head ? says.most : says.wrote;
    return [
      ...data.starts[query - data.first], ', head ' + head + ' of ' + layerName(layer) +
        ((data.named || {})[layer * data.heads + head] || '') + ' ',
      ...writes ? [before, [wroteText(wroteOf(writes, layer, head)), 'span'], after] :
        [says.looked],
      ...list.length ? [says.at, ...named(list, share)] :
        rest.length ? [says.sink, ...named(rest, share)] : [says.none],
    ];
  }
  // gave tells from where a head looks at a token.
  function gave(layer, head, token) {
    const list = lookers(layer, head, token), name = 'head ' + head + ' of ' + layerName(layer);
    return [...wordOf(token), ...list.length ? [
      ' is looked at by ' + name + ' from ',
      ...named(list, (query) => shareOf(layer, head, query, token)),
    ] : [' stands out for no token of ' + name]];
  }
  const kindsOf = (layer, head) => (data.kinds || []).filter(
    ({heads}) => heads.includes(layer * data.heads + head));
  // notesOf are what was measured of a head, and what the loss does without it.
  const notesOf = (layer, head) => (data.notes || {})[layer * data.heads + head] || [];
  // showing is the token from which a head of a kind gives most to what such a head reads there,
  // undefined if there is none to see.
  function showing(kind, layer, head) {
    const occurrences = (token, of) => range(0, seen(token)).filter(
      (other) => other < names.length && names[other] === of);
    const reads = {
      'induction': (token) => occurrences(token, names[token]).map((other) => other + 1),
      'previous token': (token) => [token - 1],
      'duplicate token': (token) => occurrences(token, names[token]),
      'first token': () => [0],
      'name mover': (token) => data.predicted[token] < 0 ? [] :
        occurrences(token, names[promptCount + data.predicted[token]]),
    }[kind];
    if (!reads) return undefined;
    const share = (token) => reads(token).filter((other) => other >= 0 && other < token).reduce(
      (sum, other) => sum + shareOf(layer, head, token, other), 0);
    const all = range(data.first, data.last + 1);
    const best = all.reduce((a, b) => share(b) > share(a) ? b : a);
    return share(best) > 0.05 ? best : undefined;
  }
  return {
    sinks, known, seen, looks, reads, shareOf, stepAt, lookedAt, lookers, wordOf, sentence, gave,
    kindsOf, notesOf, showing, writesAt, wroteOf, wroteText,
  };
}

// readingOf returns what a reader chose: the query, the layer and the head that are open, the token
// that the map is about, and, if the picture is about what looks at a token, which.
function readingOf(data, choice) {
  const attention = attentionOf(data), {known, lookedAt} = attention;
  const tokenCount = data.sources;
  const query = () => within(choice.query, tokenCount, data.query);
  // opened are the layer and the head that a token opens.
  const opened = () => known(query()) ? data.opens[query() - data.first] : [data.layer, data.head];
  const layer = () => within(choice.layer, data.layers, opened()[0]);
  const head = () => within(choice.head, data.heads, opened()[1]);
  const isChosen = () => choice.source >= 0 && choice.source < tokenCount;
  // listed are the heads that are listed for the query: of each its layer, itself, its token
  // and what is over its habit.
  function listed() {
    const list = known(query()) ? data.best[query() - data.first] : [];
    return range(0, list.length / 4).map((i) => list.slice(4 * i, 4 * i + 4));
  }
  const source = () => isChosen() ? choice.source : [
    ...lookedAt(...opened(), query()), ...listed().map(([, , token]) => token), query(),
  ].find((token) => token >= 0);
  // target is the token that what looks at it is shown of, -1 if what the query looks at is.
  const target = () => !choice.fed ? -1 : isChosen() ? choice.source : query();
  const predictionAt = (token) => data.predicted[token];
  // framed is the token that is framed with the query: the one that is predicted there.
  const framed = () => data.generated && predictionAt(query()) >= 0 ?
    data.m + predictionAt(query()) : query();
  // wrote is the layer that wrote what is predicted at the query, -1 if that is not known.
  const wrote = () => predictionAt(query()) >= 0 ? data.wrote[predictionAt(query())] : -1;
  const text = textReading(data, choice, () => [query(), ...isChosen() ? [choice.source] : []]);
  return {
    ...attention, ...text, tokenCount, query, layer, head, isChosen, listed, source, target,
    predictionAt, framed, wrote,
  };
}

// start draws a picture and answers what a reader does. What the parts below are given has, beside
// the reading, the page; ofLayer has the heads of the open layer from the query, ofHead the open
// head from every token, and go draws everything after a change of the choice.
function start(root, data) {
  const reading = readingOf(data, choices(data.id, root, {unfolded: [], open: {}}));
  const {choice, tokenCount, query, layer, head, seen, target, isChosen} = reading;
  const {predictionAt, promptCount} = reading;
  const view = Object.assign(viewOf(root, reading), {go, open, unfolds: true}), {find} = view;
  function go(change) {
    Object.assign(choice, change);
    view.columns = reading.columnsNow();
    root.classList.toggle('hm-wide', view.columns.length > 50);
    const focused = [...find('side').querySelectorAll('button')].indexOf(document.activeElement);
    [drawAnswer, drawText, drawMatrices, drawSide].forEach((draw) => draw(view));
    if (focused >= 0) {
      (find('side').querySelectorAll('button')[focused] || root).focus({preventScroll: true});
    }
    drawSwitches(root);
  }
  // open opens a head, if there is one.
  function open(layer, head) {
    if (layer >= 0 && layer < data.layers && head >= 0 && head < data.heads) go({layer, head});
  }
  const look = (token) => go({query: clamp(token, tokenCount), fed: false, source: undefined});
  // choose answers a click on a token: a prediction shows from where it is made what heads look at,
  // another token is the source of the map, and once more, or with Shift, what looks at it.
  function choose(token, shift) {
    const at = data.generated ? data.predicted.indexOf(token - promptCount) :
      predictionAt(token) >= 0 ? token : -1;
    const made = at >= 0 && token >= (data.generated ? promptCount : 0);
    const again = isChosen() && choice.source === token || made && at === query();
    if (target() === token) go({fed: false, source: undefined});
    else if (shift || again) go({fed: true, source: token});
    else if (made || token >= seen(query())) look(made ? at : token);
    else go({fed: false, source: token});
  }
  // clickOn answers clicks in a table whose row is a head of the open layer, or a query.
  const clickOn = (part, headOf) => (row, i) => {
    const column = view.columns[i], source = column && column.tokens[0];
    if (row === undefined) return column && choose(source);
    const [ofHead, from] = headOf(row);
    go({layer: layer(), head: ofHead, query: from, fed: false, source});
    if (column) drawReadout(view, part(), ofHead, from, column);
  };
  addParts(view, clickOn);
  onText(view, choose);
  onKeys(root, ({shiftKey}) => {
    const ahead = find('text').dir === 'rtl' ? -1 : 1;
    const side = (by) => () => shiftKey ?
      open(layer(), head() + by) : look(query() + by * ahead);
    return {
      ArrowLeft: side(-1), ArrowRight: side(1), ArrowUp: () => open(layer() + 1, head()),
      ArrowDown: () => open(layer() - 1, head()), Home: () => look(0), End: () => look(Infinity),
      Enter: () => go({fed: !choice.fed}),
      Escape: () => go({layer: undefined, head: undefined, source: undefined, fed: false}),
    };
  });
  root.setAttribute('aria-label', 'heads: left and right choose a token, up and down a layer, ' +
    'with Shift left and right a head, Enter shows what looks at the token, Escape goes back');
  liven(root, data, choice);
  go({});
}

function drawAnswer(view) {
  const {data, find, names, layer, head, query, target, known, predictionAt, whereIs} = view;
  const {sentence, gave, wordOf, shareOf, go} = view, facts = find('facts'), at = query();
  if (target() >= 0) {
    write(find('say'), gave(layer(), head(), target()));
    facts.replaceChildren(whereIs(target()) + ' · which tokens look at it · ',
      backButton('back to what it looks at', () => go({fed: false})));
    return;
  }
  if (!known(at)) {
    write(find('say'), [...wordOf(at), ': there was no room for what heads look at from here']);
    facts.replaceChildren(whereIs(at));
    return;
  }
  const sinks = data.sinks.map((sink) => [sink, shareOf(layer(), head(), at, sink)])
    .filter(([, share]) => share >= 0.01).map(([sink, share]) =>
      ' · sink “' + names[sink] + '” (' + sink + ') ' + percent(share, data.coarse));
  write(find('say'), sentence(layer(), head(), at));
  const notes = view.notesOf(layer(), head()).map((note) => ' · ' + note);
  facts.replaceChildren((predictionAt(at) >= 0 ? data.from[predictionAt(at)] :
    'seen from ' + whereIs(at)) + [...sinks, ...notes].join(''));
}
// drawText colours the tokens that the head looks at, or those that look at the target.
function drawText(view) {
  const {choice, layer, head, query, target, framed, isChosen} = view;
  const {shareOf, stepAt, lookedAt, lookers} = view, of = target(), at = [layer(), head()];
  const colored = new Set(of >= 0 ? lookers(...at, of) : lookedAt(...at, query()));
  const stepOf = (token) =>
    of >= 0 ? classOf(shareOf(...at, token, of)) : stepAt(...at, query(), token);
  paintText(view, (token) => [
    token === (of >= 0 ? of : framed()) ? 'hm-here' : colored.has(token) ? stepOf(token) : '',
    isChosen() && token === choice.source && of < 0 ? 'hm-ring' : '',
  ], (tokens) => tokens.map(stepOf).sort().pop());
}

// strongestIn is the token of a column that a head looks at most, a sink if there are only sinks.
function strongestIn({sinks, shareOf}, {tokens}, head, query) {
  const share = (token) => shareOf(...head, query, token);
  return tokens.reduce((best, token) =>
    !sinks.has(token) && (sinks.has(best) || share(token) > share(best)) ? token : best);
}
// cellsOf returns the cells of a row.
function cellsOf(view, layer, head, query) {
  const {columns, known, seen, reads, sinks, shareOf, stepAt} = view;
  return columns.map((column, i) => {
    const [first] = column.tokens;
    if (first >= seen(query) || !known(query) || !reads(layer, first)) return cellOf(view, i);
    const token = strongestIn(view, column, [layer, head], query), grey = sinks.has(token);
    return cellOf(view, i, {
      grey, step: stepAt(layer, head, query, token), always: grey,
      number: fixed(100 * shareOf(layer, head, query, token), 0),
    });
  }).join('');
}
const capital = (text) => text[0].toUpperCase() + text.slice(1);
function drawMatrices(view) {
  const {data, root, find, names, columns, layer, head, query, framed, known, source} = view;
  const {target, sinks, choice, isChosen, ofLayer, ofHead, thumbs} = view, at = query();
  const marked = target() >= 0 ? target() : isChosen() ? choice.source : -1;
  const look = {
    marked: ({tokens}) => tokens.includes(marked),
    width: ({tokens}) => sinks.has(tokens[0]) ? 'hm-chance' : '',
    bands: data.encoder !== undefined,
  };
  root.querySelectorAll('.hm-go b').forEach((name, i) => {
    name.textContent = i ? 'head ' + head() : view.layerName(layer());
  });
  const named = capital(view.layerName(layer()));
  entitle(ofLayer.bar.title, named + ', all ' + data.heads + ' heads',
    'what each looks at ' + (framed() === at ? 'from' : 'before') + ' “' + names[framed()] +
    '”, per cent of its attention');
  fillTable(ofLayer, view, range(0, data.heads).map((each) => ({
    key: each, name: 'head ' + each, here: each === head(),
    cells: cellsOf(view, layer(), each, at),
  })), look);
  entitle(ofHead.bar.title, named + ', head ' + head() + ' from every token',
    'rows look at columns');
  const looks = (token) => known(token) && view.looks(layer(), token);
  fillTable(ofHead, view, columns.filter(({tokens, gap}) => !gap && looks(tokens[0])).map(
    ({tokens: [token]}) => ({
      key: token, name: names[token], here: target() < 0 && token === at,
      cells: cellsOf(view, layer(), head(), token),
    })), look);
  for (const part of [ofLayer, ofHead]) {
    const line = part.table.querySelector('tr.hm-here');
    reveal(part, view, target() >= 0 ? target() : source());
    if (line) part.scroll.scrollTop = line.offsetTop - part.scroll.clientHeight / 2;
    drawReadout(view, part);
  }
  if (thumbs) drawThumbnails(view);
}
// drawReadout writes what a head gives the tokens of a column, or the one that it looks at most.
function drawReadout(view, {bar}, head = view.head(), query = view.query(), column) {
  const {data, names, layer, seen, sinks, shareOf, lookedAt, placed} = view;
  const share = (token) => shareOf(layer(), head, query, token), writes = view.writesAt(query);
  const token = column ? strongestIn(view, column, [layer(), head], query) : [
    ...lookedAt(layer(), head, query),
    range(0, seen(query)).reduce((a, b) => share(b) > share(a) ? b : a),
  ][0];
  bar.readout.replaceChildren(view.layerName(layer()) + ', head ' + head + ': ', bold(names[query]),
    ' → ', bold(names[token]), ' ' + [percent(share(token), data.coarse),
      ...placed(column || {tokens: [token]}, token),
      ...writes ? ['wrote ' + view.wroteText(view.wroteOf(writes, layer(), head))] : [],
      ...sinks.has(token) ? ['a sink, not in the scale'] : [],
      ...view.kindsOf(layer(), head).map(({name}) => name)].join(' · '));
}
// drawThumbnails draws every head of the layer from every token.
function drawThumbnails(view) {
  const {data, thumbs, tokenCount, layer, head, seen, looks, reads, stepAt, open} = view;
  const side = Math.min(tokenCount, 64), place = (x) => Math.floor(x * side / tokenCount);
  const picture = (each) => {
    const rows = range(0, side).map(() => []);
    for (let query = 0; query < tokenCount; query++) {
      const row = rows[place(query)];
      for (let token = 0; token < seen(query); token++) {
        if (!looks(layer(), query) || !reads(layer(), token)) continue;
        const step = stepAt(layer(), each, query, token) || 'hm-z', x = place(token);
        if (!row[x] || step > row[x]) row[x] = step;
      }
    }
    return {name: 'head ' + each, rows, columns: side, width: 112, height: 112};
  };
  if (thumbs.layer !== layer()) {
    thumbnails(thumbs, range(0, data.heads).map(picture), (each) => open(layer(), each));
  }
  thumbs.layer = layer();
  [...thumbs.children].forEach((e, each) => { e.ariaPressed = each === head(); });
}

// Beside the matrices.

function drawSide(view) {
  view.find('side').replaceChildren(mapOf(view), listOf(view));
}

// mapOf returns the table of all heads, a row for each layer. Its colours are what each head wrote
// into the prediction at the query. If that is not known or the reader has chosen a token, they are
// attention: from the query to the source, or with a target the most that any token gives it.
function mapOf(view) {
  const {data, layer, head, query, target, source, seen, wrote, shareOf, wordOf, open} = view;
  const of = target(), token = of >= 0 ? of : source(), every = data.heads > 16 ? 5 : 1;
  const marked = of < 0 ? wrote() : -1, words = make('span', {});
  const writes = of < 0 && !view.isChosen() ? view.writesAt(query()) : undefined;
  const share = (inLayer, each) => of < 0 ? shareOf(inLayer, each, query(), token) : Math.max(
    0, ...range(data.first, data.last + 1).filter((from) => from !== token).map(
      (from) => shareOf(inLayer, each, from, token)));
  const place = (inLayer, each) =>
    writes ? view.wroteOf(writes, inLayer, each) / writes.top : share(inLayer, each);
  const line = (inLayer) => '<tr' + (inLayer === marked ? ' class="hm-wrote"' : '') +
    '><th scope="row">' + (inLayer === marked ? 'wrote ' : '') + view.layerLabel(inLayer) +
    '</th>' +
    range(0, data.heads).map((each) => '<td data-l="' + inLayer + '" data-h="' + each +
      '" class="' + (classOf(place(inLayer, each)) || 'hm-z') +
      (inLayer === layer() && each === head() ? ' hm-here' : '') + '">' +
      view.kindsOf(inLayer, each).map(({letter}) => letter).join('') + '</td>').join('') + '</tr>';
  const table = make('table', {
    className: 'hm-map', innerHTML: '<colgroup><col></colgroup><thead><tr><th></th>' +
      range(0, data.heads).map((each) => '<th>' + (each % every ? '' : each) + '</th>').join('') +
      '</tr></thead><tbody>' + range(0, data.layers).reverse().map(line).join('') + '</tbody>',
  });
  const box = titled('All heads', writes ? 'what each wrote, up to ±' + writes.top.toFixed(2) :
    of >= 0 ? 'largest share of ' : 'share given to ', table);
  const headAt = ({target: {dataset: {l, h}}}) => l ? [Number(l), Number(h)] : undefined;
  table.onclick = (event) => headAt(event) && open(...headAt(event));
  table.onpointerover = (event) => {
    const at = headAt(event), column = {tokens: [Math.min(token, seen(query()) - 1)]};
    if (at) drawReadout({...view, layer: () => at[0]}, view.ofLayer, at[1], query(), column);
  };
  table.onpointerleave = () => drawReadout(view, view.ofLayer);
  write(words, writes ? [] : wordOf(token));
  box.firstChild.append(words);
  return box;
}
// listOf lists the heads of the query: those that wrote most, each with the token that it looked at
// most, or, where that is not known, those that look at one token in particular.
function listOf(view) {
  const {data, names, layer, head, query, listed, wrote, shareOf, open, kindsOf} = view;
  const list = listed(), writes = view.writesAt(query());
  const inWriter = list.some(([inLayer]) => inLayer === wrote());
  const bars = barsOf(list.map(([inLayer, each, token, over]) => {
    const share = shareOf(inLayer, each, query(), token), text = percent(share, data.coarse);
    const value = writes && view.wroteOf(writes, inLayer, each);
    const place = writes ? value / writes.top : share;
    const letters = kindsOf(inLayer, each).map(({letter}) => letter).join('');
    return {
      name: make('button', {
        type: 'button', textContent: [
          view.layerLabel(inLayer) + '.' + each, ...letters ? ['(' + letters + ')'] : [],
          token < 0 ? 'sinks' : names[token],
        ].join(' '),
        ariaPressed: inLayer === layer() && each === head(), onclick: () => open(inLayer, each),
      }),
      part: Math.abs(place), step: classOf(place), strong: !writes && inLayer === wrote(),
      number: writes ? view.wroteText(value) + (token < 0 ? '' : ' · ' + text) :
        text + ' ' + (over > 0 ? '+' : '') + minus(over),
    };
  }));
  if (writes) {
    return titled('Heads that wrote most, for or against it', !list.length ? 'none' :
      'logits, blue for the token and rust against it; layer.head, where it looked most', bars);
  }
  return titled('Heads that look here in particular',
    'attention, not effect: layer.head, share, ± its habit' + (
      !list.length ? ': none' :
        (inWriter ? '; first, in bold, ' + view.layerName(wrote()) + ', which wrote it' : '') +
        '; by what is over the habit, with more weight at the token written and in upper layers'),
    bars);
}

// addParts adds the elements that the script alone draws in. Buttons go from layer to layer and
// from head to head, as the arrow keys do.
function addParts(view, clickOn) {
  const {data, choice, find, tokenCount, layer, head, query, open, go} = view;
  const step = (textContent, label, layers, heads) => make('button', {
    type: 'button', textContent, ariaLabel: 'the ' + label,
    onclick: () => open(layer() + layers, head() + heads),
  });
  find('tabs').removeAttribute('role');
  find('tabs').classList.add('hm-go');
  find('tabs').append(
    make('span', {}, step('‹', 'layer below', -1, 0), bold(''), step('›', 'layer above', 1, 0)),
    make('span', {}, step('‹', 'head before', 0, -1), bold(''), step('›', 'head after', 0, 1)));
  if (data.kinds) {
    const now = () => layer() * data.heads + head();
    find('tabs').append(make('span', {className: 'hm-kinds'}, 'show me one: ', ...data.kinds.map(
      ({name, letter, heads}) => switchOf(name + ' (' + letter + ')',
        () => heads.includes(now()), () => {
          const next = heads[(heads.indexOf(now()) + 1) % heads.length];
          const at = [Math.floor(next / data.heads), next % data.heads];
          const from = view.showing(name, ...at);
          go({
            layer: at[0], head: at[1], query: from === undefined ? query() : from, fed: false,
            source: undefined,
          });
        }))));
  }
  const matrix = (headOf, ...switches) => {
    const part = tablePart(view, 'hm-matrix', (row, i) => drawReadout(
      view, part, ...row === undefined ? [head(), query()] : headOf(row), view.columns[i]),
    clickOn(() => part, headOf));
    part.bar = barOf(...switches);
    find('after').append(part.bar.bar, part.hold);
    return part;
  };
  view.ofLayer = matrix((row) => [row, query()], ...unfoldSwitch(data, choice, go));
  find('after').append(make('div', {className: 'hm-legend'}, ...legendOf(
    {kind: 'share', limit: 1, cellDigits: 0, unit: 'share of attention'}),
  sinksNote(view.names, data.sinks).replace('\u00a0· ', '')));
  view.ofHead = matrix((row) => [head(), row]);
  // Where rows are left out, most of each small picture would be empty.
  if (data.last - data.first === tokenCount - 1) {
    view.thumbs = make('div', {className: 'hm-thumbs'});
    find('after').append(titled('All heads of the layer', 'from every token', view.thumbs));
  }
}
begin('.hm-heads', start);
