"use strict";
// Rows of greatest entropy, what a published count tells, and the least loss within limits.
// It has no page and is tested against the solver of the package.
const Designs = (() => {
  const ROUNDING = 1e-9;

  // The noise that a count may get: no negative counts, and none of 1..small is published.
  function support(count, { noise, small }) {
    const values = [];
    for (let v = -Math.min(count, noise); v <= noise; v += 1) {
      if (count + v === 0 || count + v > small) values.push(v);
    }
    return values;
  }

  // The law of greatest entropy on values, of mean zero and the nearest variance in reach.
  function law(values, variance) {
    const low = values[0], high = values[values.length - 1];
    if (values.length === 0 || low > 0 || high < 0) return null;
    if (low === 0 || high === 0) return new Map([[0, 1]]);
    const has0 = values.includes(0);
    const below = Math.max(...values.filter((v) => v < 0)), above = Math.min(...values.filter((v) => v > 0));
    const least = has0 ? 0 : -below * above, greatest = -low * high;
    if (variance >= greatest - ROUNDING) return ends(low, high);
    if (variance <= least + ROUNDING) return has0 ? new Map([[0, 1]]) : ends(below, above);
    return tilted(values, variance);
  }

  function ends(low, high) {
    return new Map([[low, high / (high - low)], [high, -low / (high - low)]]);
  }

  // Newton's method on the dual: p ∝ exp(a v + b v²).
  function tilted(values, variance) {
    const scale = Math.max(...values.map(Math.abs));
    const x = values.map((v) => v / scale), goal = variance / scale ** 2;
    let a = 0, b = 0, state = moments(x, a, b, goal);
    for (let turn = 0; turn < 200; turn += 1) {
      const { gradient: [g, h], hessian: [gg, gh, hh] } = state;
      if (Math.abs(g) + Math.abs(h) < 1e-13) break;
      const determinant = gg * hh - gh * gh;
      if (!(determinant > 1e-300)) break;
      const da = -(hh * g - gh * h) / determinant, db = -(gg * h - gh * g) / determinant;
      let step = 1, next = null;
      for (; step > 1e-12; step /= 2) {
        next = moments(x, a + step * da, b + step * db, goal);
        if (next.value <= state.value + 1e-4 * step * (g * da + h * db)) break;
      }
      if (step <= 1e-12) break;
      a += step * da; b += step * db; state = next;
    }
    return new Map(values.map((v, place) => [v, state.p[place]]));
  }

  function moments(x, a, b, goal) {
    const logs = x.map((v) => a * v + b * v * v), top = Math.max(...logs);
    const weights = logs.map((one) => Math.exp(one - top)), sum = total(weights);
    const p = weights.map((one) => one / sum);
    const mean = (power) => total(p.map((one, place) => one * x[place] ** power));
    const [m1, m2, m3, m4] = [1, 2, 3, 4].map(mean);
    return {
      p, value: top + Math.log(sum) - b * goal, gradient: [m1, m2 - goal],
      hessian: [m2 - m1 * m1, m3 - m1 * m2, m4 - m2 * m2],
    };
  }

  function total(numbers) {
    return numbers.reduce((sum, one) => sum + one, 0);
  }

  // One row of a p-table; with a probability of staying, the rest shares what is left.
  function row(count, { noise, small, variance, stay = null }) {
    const values = support(count, { noise, small });
    if (stay === null || !values.includes(0)) return law(values, variance);
    const rest = law(values.filter((v) => v !== 0), variance / (1 - stay));
    if (rest === null) return null;
    return new Map(values.map((v) => [v, v === 0 ? stay : (1 - stay) * (rest.get(v) || 0)]));
  }

  // The first count that no edge cuts.
  function lastCount({ noise, small }) {
    return small ? noise + small + 1 : noise;
  }

  // All rows, that of count 0 first; the last serves all larger counts.
  function table(design) {
    const rows = [new Map([[0, 1]])];
    for (let count = 1; count <= lastCount(design); count += 1) {
      const one = row(count, design);
      if (one === null) return null;
      rows.push(one);
    }
    return rows;
  }

  function variance(one) {
    let mean = 0, square = 0;
    for (const [v, p] of one) { mean += v * p; square += v * v * p; }
    return square - mean * mean;
  }

  function serving(rows, count, cycle) {
    const last = rows.length - 1;
    return rows[count <= last ? count : last - cycle + 1 + ((count - (last - cycle + 1)) % cycle)];
  }

  // What a table tells and loses under a prior: the worst posterior of one of 1..sensitive.
  function figures(rows, prior, sensitive, { cycle = 1 } = {}) {
    const noise = Math.max(...rows.flatMap((one) => [...one.keys()].map(Math.abs)));
    let last = Math.max(rows.length - 1, sensitive + 2 * noise) + cycle;
    if (cycle > 1) last = Math.max(last, Math.min(200, prior.length - 1));
    const columns = sensitive + noise;
    const sums = new Float64Array(columns + 1), parts = [];
    for (let count = 1; count <= last + 1; count += 1) {
      for (const [v, p] of serving(rows, count, cycle)) {
        const published = count + v, joint = p * (prior[count] || 0);
        if (published > columns) continue;
        sums[published] += joint;
        if (count <= sensitive) parts.push([published, count, joint]);
      }
    }
    let posterior = 0, at = null;
    const posteriors = Array.from({ length: columns + 1 }, () => ({}));
    for (const [published, count, joint] of parts) {
      if (joint <= 0) continue;
      const one = joint / sums[published];
      posteriors[published][count] = one;
      if (one > posterior) { posterior = one; at = [published, count]; }
    }
    const set = posteriors.map((one) => total(Object.values(one)));
    const weights = lossWeights(prior, last);
    let loss = 0, stay = 0, least = Infinity, largest = 0, change = 0, entered = 0;
    for (let count = 1; count <= last; count += 1) {
      const one = serving(rows, count, cycle), spread = variance(one);
      let square = 0, size = 0;
      for (const [v, p] of one) { square += v * v * p; size += Math.abs(v) * p; }
      loss += weights[count] * square; change += weights[count] * size; entered += weights[count];
      stay = Math.max(stay, one.get(0) || 0);
      least = Math.min(least, spread); largest = Math.max(largest, spread);
    }
    return { posterior, at, posteriors, set: Math.max(...set), loss, change: change / entered, stay, least, largest };
  }

  function lossWeights(prior, last) {
    const weights = Array.from({ length: last + 1 }, (_, count) => (count ? prior[count] || 0 : 0));
    weights[last] += total(prior.slice(last + 1));
    const sum = total(weights);
    return weights.map((one, count) => (count ? Math.max(one / sum, 1e-6) : 0));
  }

  // The least loss of any table within limits, by a linear program; null where there is none.
  function leastLoss({ noise, small, sensitive, posterior, floor, ceiling, stay, prior }) {
    const last = sensitive + 2 * noise, weights = lossWeights(prior, last);
    const program = new Program(), rows = [];
    for (let count = 1; count <= last; count += 1) {
      const values = support(count, { noise, small });
      if (!values.length || values[0] > 0) return null;
      rows.push(new Map(values.map((v) => [v, program.variable(weights[count] * v * v)])));
    }
    rows.forEach((one, place) => {
      const values = [...one.keys()], has0 = one.has(0), low = values[0], high = values[values.length - 1];
      const below = Math.max(...values.filter((v) => v < 0), -Infinity), above = Math.min(...values.filter((v) => v > 0), Infinity);
      const least = has0 ? 0 : -below * above, greatest = -low * high;
      program.equal([...one.values()].map((x) => [x, 1]), 1);
      program.equal([...one].filter(([v]) => v).map(([v, x]) => [x, v]), 0);
      const square = [...one].filter(([v]) => v).map(([v, x]) => [x, v * v]);
      program.atMost(square, Math.max(ceiling, least));
      program.atMost(square.map(([x, c]) => [x, -c]), -Math.min(floor, greatest));
      if (has0 && stay < 1) program.atMost([[one.get(0), 1]], stay);
      const count = place + 1;
      if (count >= lastCount({ noise, small })) {
        for (let v = -noise; v < 0; v += 1) program.atMost([[one.get(v), 1], [one.get(v + 1), -1]], 0);
        for (let v = noise; v > 0; v -= 1) program.atMost([[one.get(v), 1], [one.get(v - 1), -1]], 0);
      }
    });
    for (let published = 0; published <= sensitive + noise; published += 1) {
      const column = [];
      rows.forEach((one, place) => {
        const x = one.get(published - place - 1);
        if (x !== undefined) column.push([place + 1, x, prior[place + 1] || 0]);
      });
      for (let count = 1; count <= sensitive; count += 1) {
        const own = column.find(([one]) => one === count);
        if (!own || own[2] <= 0) continue;
        const entries = column.filter(([, , share]) => share > 0)
          .map(([one, x, share]) => [x, ((one === count ? 1 : 0) - posterior) * share / own[2]]);
        program.atMost(entries, 0);
      }
    }
    return program.solve();
  }

  // A linear program, by a predictor and corrector inside (Mehrotra 1992).
  class Program {
    constructor() { this.costs = []; this.columns = []; this.right = []; }

    variable(cost) { this.costs.push(cost); this.columns.push([]); return this.costs.length - 1; }

    equal(entries, right) {
      const place = this.right.push(right) - 1;
      for (const [x, factor] of entries) if (factor) this.columns[x].push([place, factor]);
    }

    atMost(entries, right) { this.equal([...entries, [this.variable(0), 1]], right); }

    solve() {
      const n = this.costs.length, m = this.right.length, { columns, costs, right } = this;
      const times = (x) => {
        const y = new Float64Array(m);
        columns.forEach((column, j) => { for (const [i, a] of column) y[i] += a * x[j]; });
        return y;
      };
      const transposed = (y) => Float64Array.from(columns, (column) => {
        let sum = 0;
        for (const [i, a] of column) sum += a * y[i];
        return sum;
      });
      const factor = (d) => {
        const matrix = Array.from({ length: m }, () => new Float64Array(m));
        columns.forEach((column, j) => {
          for (const [i, a] of column) for (const [k, b] of column) if (k <= i) matrix[i][k] += a * b * d[j];
        });
        return cholesky(matrix);
      };
      let x, y, s;
      {
        const inverse = factor(new Float64Array(n).fill(1));
        x = transposed(inverse(Float64Array.from(right)));
        y = inverse(times(costs));
        const back = transposed(y);
        s = Float64Array.from(costs, (c, j) => c - back[j]);
        const dx = Math.max(-1.5 * Math.min(...x), 0) + 1e-3, ds = Math.max(-1.5 * Math.min(...s), 0) + 1e-3;
        x = x.map((one) => one + dx); s = s.map((one) => one + ds);
        let product = 0, sx = 0, ss = 0;
        for (let j = 0; j < n; j += 1) { product += x[j] * s[j]; sx += x[j]; ss += s[j]; }
        x = x.map((one) => one + product / (2 * ss)); s = s.map((one) => one + product / (2 * sx));
      }
      const norm = (v) => Math.sqrt(v.reduce((sum, one) => sum + one * one, 0));
      for (let turn = 0; turn < 80; turn += 1) {
        const ax = times(x), aty = transposed(y);
        const primal = Float64Array.from(right, (b, i) => b - ax[i]);
        const dual = Float64Array.from(costs, (c, j) => c - aty[j] - s[j]);
        let gap = 0, cost = 0;
        for (let j = 0; j < n; j += 1) { gap += x[j] * s[j]; cost += costs[j] * x[j]; }
        if (norm(primal) < 1e-7 && norm(dual) < 1e-7 && gap < 1e-7 * (1 + Math.abs(cost))) return cost;
        if (!Number.isFinite(gap) || norm(y) > 1e9) return null;
        const mu = gap / n, d = Float64Array.from(x, (one, j) => one / s[j]), inverse = factor(d);
        const direction = (target) => {
          // A D Aᵀ dy = primal + A (D dual − S⁻¹ target)
          const inner = Float64Array.from(d, (one, j) => one * dual[j] - target[j] / s[j]);
          const sum = times(inner);
          const dy = inverse(Float64Array.from(primal, (one, i) => one + sum[i]));
          const back = transposed(dy);
          const ds = Float64Array.from(dual, (one, j) => one - back[j]);
          const dx = Float64Array.from(target, (one, j) => (one - x[j] * ds[j]) / s[j]);
          return { dx, dy, ds };
        };
        const reach = (from, by) => {
          let step = 1;
          for (let j = 0; j < n; j += 1) if (by[j] < 0) step = Math.min(step, -from[j] / by[j]);
          return step;
        };
        const first = direction(Float64Array.from(x, (one, j) => -one * s[j]));
        const px = reach(x, first.dx), ps = reach(s, first.ds);
        let after = 0;
        for (let j = 0; j < n; j += 1) after += (x[j] + px * first.dx[j]) * (s[j] + ps * first.ds[j]);
        const centre = (after / n / mu) ** 3 * mu;
        const { dx, dy, ds } = direction(Float64Array.from(x, (one, j) => centre - one * s[j] - first.dx[j] * first.ds[j]));
        const ax2 = 0.995 * reach(x, dx), as2 = 0.995 * reach(s, ds);
        x = x.map((one, j) => one + Math.min(1, ax2) * dx[j]);
        y = y.map((one, i) => one + Math.min(1, as2) * dy[i]);
        s = s.map((one, j) => one + Math.min(1, as2) * ds[j]);
      }
      return null;
    }
  }

  // Factor a matrix, lower half given; rows without a pivot of their own are left out.
  function cholesky(matrix) {
    const m = matrix.length, diagonal = matrix.map((line, i) => line[i]), left = new Array(m).fill(false);
    for (let i = 0; i < m; i += 1) {
      const line = matrix[i];
      for (let k = 0; k < i; k += 1) {
        let sum = line[k];
        const other = matrix[k];
        for (let l = 0; l < k; l += 1) sum -= line[l] * other[l];
        line[k] = left[k] ? 0 : sum / other[k];
      }
      let pivot = line[i];
      for (let l = 0; l < i; l += 1) pivot -= line[l] * line[l];
      left[i] = !(pivot > 1e-13 * (1 + diagonal[i]));
      line[i] = left[i] ? 1 : Math.sqrt(pivot);
    }
    return (right) => {
      const z = Float64Array.from(right);
      for (let i = 0; i < m; i += 1) {
        let sum = z[i];
        for (let l = 0; l < i; l += 1) sum -= matrix[i][l] * z[l];
        z[i] = left[i] ? 0 : sum / matrix[i][i];
      }
      for (let i = m - 1; i >= 0; i -= 1) {
        if (left[i]) { z[i] = 0; continue; }
        z[i] /= matrix[i][i];
        for (let l = 0; l < i; l += 1) z[l] -= matrix[i][l] * z[i];
      }
      return z;
    };
  }

  return { lastCount, row, table, variance, figures, leastLoss };
})();
if (typeof module !== "undefined") module.exports = Designs;
