// Values on the scale of a method: numbers, places and colours, as the sentences and pages that Go
// writes have them. drawnRows in heatmapdata.go has the fields of a method k.

const stepsAt = [1 / 24, 1 / 8, 1 / 4, 0.4, 0.6, 0.8];
const range = (from, to) => Array.from({length: Math.max(to - from, 0)}, (_, i) => from + i);
const last = (list) => list[list.length - 1];
const minus = (text) => String(text).replace(/-/g, '−');

// Numbers as the sentences have them; x is a value of method k and i its row.
function fixed(x, digits) {
  const text = x.toFixed(Math.abs(x) >= 99.95 ? 0 : digits);
  return /[1-9]/.test(text) ? text : text.replace('-', '');
}
const scaled = (k, x) => k.kind === 'share' ? 100 * x : x;
function format(k, x, i) {
  if (x === undefined) return '';
  if (x !== x) return 'NaN';
  const digits = k.rowDigits ? k.rowDigits[i] : k.digits, y = scaled(k, x);
  // Go writes an exponent with two digits.
  const exponent = (text) => text.replace(/e([+-])(\d)$/, 'e$10$2');
  let text = fixed(y, k.kind !== 'share' && Math.abs(y) >= 10 ? 1 : digits);
  if (k.kind !== 'share' && Math.abs(y) >= 1e4) text = exponent(y.toExponential(1));
  if (k.kind === 'amount' && k.power) {
    const three = Number(x.toPrecision(3));
    text = x && Math.abs(x) < 1e-4 ? exponent(three.toExponential()) : String(three);
  }
  const sign = k.kind === 'lift' ? '×' : k.signed && x > 0 && /[1-9]/.test(text) ? '+' : '';
  return minus(sign + text + (k.kind === 'share' ? ' %' : ''));
}
function inCell(k, x) {
  const text = fixed(scaled(k, x) / 10 ** (k.power || 0), k.cellDigits);
  return /[1-9]/.test(text) ? minus(text) : '';
}
// placeOf is the place of a value on a scale, from -1 to 1.
function placeOf(k, x, limit) {
  const place = k.kind === 'lift' ? Math.log2(x) / Math.log2(k.limit) : x / (limit || k.limit);
  return place === place ? Math.max(Math.min(place, 1), -1) : 0;
}
function classOf(place) {
  const step = stepsAt.filter((least) => Math.abs(place) >= least).length;
  return step ? (place < 0 ? 'n' : 'p') + step : '';
}
// legendOf returns the elements of a legend: where each colour begins, and the unit.
function legendOf(k) {
  const number = (least) => k.kind === 'lift' ?
    String(Number((k.limit ** least).toPrecision(2))) :
    inCell(k, least * k.limit);
  const boxOf = (list) => {
    const box = make('span', {className: 'hm-steps'});
    box.append(...list.map(([name, text]) => {
      const e = make('span', {});
      e.append(make('i', {className: name}), make('small', {textContent: text}));
      return e;
    }));
    return box;
  };
  const signs = k.kind === 'lift' ? {n: '÷', p: '×'} : {n: '−', p: ''};
  const steps = (side) => stepsAt.map((least, x) => [side + (x + 1), signs[side] + number(least)]);
  const below = k.signed || k.kind === 'lift' ?
    [make('span', {textContent: k.against}), boxOf(steps('n').reverse())] :
    [];
  return [
    ...below, boxOf([['hm-z', k.kind === 'lift' ? '1' : '0']]), boxOf(steps('p')),
    make('span', {textContent: k.for}), make('span', {
      textContent: k.unit + (k.kind === 'share' ? ', in per cent' : '') +
        (k.times ? ', numbers ' + k.times : '') + ' · each step from the number below it up'
    })
  ];
}
