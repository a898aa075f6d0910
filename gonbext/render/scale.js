// Values on the scale of a method: numbers, places and colours, as the sentences and pages that Go
// writes have them. drawnRows in heatmapdata.go has the fields of a method.

const stepsAt = [1 / 24, 1 / 10, 1 / 5, 1 / 3, 1 / 2, 3 / 4];
const range = (from, to) => Array.from({length: Math.max(to - from, 0)}, (_, i) => from + i);
const last = (list) => list[list.length - 1];
const bold = (text) => make('b', {textContent: text});
// numbersIn are the values of a packed row.
const numbersIn = (packed) => range(0, sizeOf(packed)).map((j) => valueOf(packed, j));
// joined lists names, or names in pieces, with commas and a last "and" between them.
const joined = (list) => list.flatMap(
  (part, i) => i ? [i === list.length - 1 ? ' and ' : ', ', ...part] : part);

// Numbers as the sentences have them.

const minus = (text) => String(text).replace(/-/g, '−');
const visible = (text) => /[1-9]/.test(text);
// exponential writes an exponent with two digits, as Go does.
const exponential = (text) => text.replace(/e([+-])(\d)$/, 'e$10$2');
function fixed(value, digits) {
  const text = value.toFixed(Math.abs(value) >= 99.95 ? 0 : digits);
  return visible(text) ? text : text.replace('-', '');
}
// percent writes a share or a probability. Coarse ones are known to a whole per cent.
const percent = (part, coarse) => (coarse ? '≈ ' : '') +
  fixed(100 * part, coarse || part >= 0.1 ? 0 : 1) + ' %';
const scaled = (method, value) => method.kind === 'share' ? 100 * value : value;
// format writes a value of a row of a method.
function format(method, value, row) {
  if (value === undefined) return '';
  if (Number.isNaN(value)) return 'NaN';
  const share = method.kind === 'share', number = scaled(method, value), size = Math.abs(number);
  const digits = method.rowDigits ? method.rowDigits[row] : method.digits;
  let text = fixed(number, !share && size >= 10 ? 1 : digits);
  if (!share && size >= 1e4) text = exponential(number.toExponential(1));
  if (method.kind === 'amount' && method.power) {
    const rounded = Number(value.toPrecision(3));
    text = value && size < 1e-4 ? exponential(rounded.toExponential()) : String(rounded);
  }
  const plus = method.signed && value > 0 && visible(text) ? '+' : '';
  return minus((method.kind === 'lift' ? '×' : plus) + text + (share ? ' %' : ''));
}
// inCell writes a value of a method in a cell of the matrix, where the legend has the unit.
function inCell(method, value) {
  const text = fixed(scaled(method, value) / 10 ** (method.power || 0), method.cellDigits);
  return visible(text) ? minus(text) : '';
}
// significant writes a positive number with two significant digits.
function significant(value) {
  const text = value.toExponential(1), exponent = Number(text.split('e')[1]);
  return Math.abs(exponent) > 4 ? exponential(text) :
    Number(text).toFixed(Math.max(1 - exponent, 0));
}
// placeOf is the place of a value on the scale of a method or one that ends at limit, from -1 to 1.
function placeOf(method, value, limit) {
  const place = method.kind === 'lift' ?
    Math.log2(value) / Math.log2(method.limit) : value / (limit || method.limit);
  return Number.isNaN(place) ? 0 : Math.max(Math.min(place, 1), -1);
}
// classOf is the class of a step: p1 to p6, n1 to n6, '' for none.
function classOf(place) {
  const step = stepsAt.filter((least) => Math.abs(place) >= least).length;
  return step ? (place < 0 ? 'n' : 'p') + step : '';
}
// legendOf returns the elements of a legend: the steps with the numbers at which they begin, of
// those below the neutral value so many, and the unit.
function legendOf(method, below = stepsAt.length) {
  const lift = method.kind === 'lift';
  const numberAt = (least) => significant(lift ? method.limit ** least :
    scaled(method, least * method.limit) / 10 ** (method.power || 0));
  const side = (letter, sign, count) => stepsAt.slice(0, count).map((least, i) => make(
    'i', {className: letter + (i + 1), textContent: sign + numberAt(least)}));
  const box = (steps) => make('span', {className: 'hm-steps'}, ...steps);
  const against = (method.signed || lift) && below ? [
    make('span', {textContent: method.against}),
    box(side('n', lift ? '÷' : '−', below).reverse()),
  ] : [];
  return [
    ...against, box(side('p', lift ? '×' : '')), make('span', {}, method.for || ''),
    make('span', {className: 'hm-unit'}, method.unit +
      (method.kind === 'share' ? ', in per cent' : '') +
      (method.times ? ', numbers ' + method.times : '') + ', from this number up'),
  ];
}
