import assert from "node:assert/strict";
import { test } from "node:test";
import { type QueryParams, stepCount } from "../core/index.ts";
import { createDirectEngine } from "./direct-engine.ts";
import { runScript } from "./run-script.ts";
import type { ScriptEngine } from "./script-engine.ts";

const data = `load 1m
  m{a="1"} 1 2 3
  m{a="2"} 4 5 6
  odd_total NaN Inf 7
  h {{schema:0 count:3 sum:4 buckets:[1 2]}}
`;

async function failuresOf(evaluation: string): Promise<(string | undefined)[]> {
  const outcomes = await runScript("t", `${data}\n${evaluation}\n`, createDirectEngine(2));
  return outcomes.map(({ failure }) => failure);
}

const passing = [
  'eval instant at 1m m\n m{a="1"} 2\n m{a="2"} 5',
  'eval instant at 1m m\n m{a="2"} 5.0000001\n m{a="1"} 2',
  'eval instant at 1m sort_desc(m)\n expect ordered\n m{a="2"} 5\n m{a="1"} 2',
  "eval instant at 0 odd_total\n odd_total NaN",
  "eval instant at 1m odd_total\n odd_total Inf",
  "eval instant at 1m 1 + 1\n 2",
  'eval instant at 1m "x"\n expect string "x"',
  'eval instant at 2m m{a="1"}[2m]\n expect range vector from 1m to 2m step 1m\n m{a="1"} 2 3',
  'eval range from 0 to 2m step 1m m\n m{a="1"} 1 2 3\n m{a="2"} 4 5 6',
  "eval instant at 0 h\n h {{schema:0 count:3 sum:4 buckets:[1 2 0 0]}}",
  "eval instant at 0 h\n h {{schema:0 count:3 sum:4 offset:-1 buckets:[0 1 2] counter_reset_hint:unknown}}",
  "eval instant at 1m m{\n expect fail",
  "eval instant at 1m m{\n expect fail regex: ^1:3: parse error",
  "eval_fail instant at 1m m{",
  "eval instant at 1m quantile(2, m)\n expect warn msg: PromQL warning: quantile value should be between 0 and 1, got 2\n {} Inf",
  "eval instant at 1m quantile(2, m)\n expect warn msg: PromQL warning: quantile value should be between 0 and 1, got 2 (1:10)\n expect no_info\n {} Inf",
  "eval instant at 1m 1+quantile(2,m)\n expect warn msg: PromQL warning: quantile value should be between 0 and 1, got 2 (1:12)\n {} Inf",
  "eval instant at 1m 1+quantile(2,m)\n expect warn regex: between 0 and 1, got 2 \\(1:12\\)\n {} Inf",
  "eval instant at 1m quantile(2, m)\n {} Inf",
  "eval_warn instant at 1m quantile(2, m)\n {} Inf",
];
for (const script of passing) {
  test(`as expected: ${script.replaceAll("\n", " ⏎ ")}`, async () => {
    assert.deepEqual(await failuresOf(script), [undefined]);
  });
}

const failing: readonly [script: string, failure: RegExp][] = [
  ['eval instant at 1m m\n m{a="1"} 2', /^not wanted: m\{a="2"\} 5/],
  ['eval instant at 1m m\n m{a="1"} 2\n m{a="2"} 5\n m{a="3"} 1', /^missing: m\{a="3"\} 1/],
  ['eval instant at 1m m{a="1"}\n m{a="1"} 2.001', /^want m\{a="1"\} 2\.001, got 2/],
  ['eval instant at 1m m\n expect ordered\n m{a="2"} 5\n m{a="1"} 2', /want .* at 2, got it at 1/],
  ["eval instant at 1m 1 + 1\n 3", /^want scalar 3, got 2/],
  [
    "eval instant at 1m quantile(2,m)\n expect warn regex: got 2 \\(1:9\\)\n {} Inf",
    /^want warning/,
  ],
  ["eval instant at 1m m\n 3", /^want scalar 3, got m/],
  ["eval instant at 1m 1\n {} 1", /^want a series, got scalar 1/],
  ['eval instant at 1m "x"\n expect string "y"', /^want string "y", got "x"/],
  ['eval range from 0 to 2m step 1m m{a="1"}\n m{a="1"} 1 2', /^want .* 2@60000, got .* 3@120000/],
  ["eval instant at 0 h\n h {{schema:0 count:3 sum:4 buckets:[2 1]}}", /^want h \{\{.*got \{\{/],
  [
    "eval instant at 0 h\n h {{schema:0 count:3 sum:4 buckets:[1 2] counter_reset_hint:gauge}}",
    /hint:gauge.*hint:unknown/,
  ],
  ["eval instant at 0 h\n h 3", /^want h 3, got \{\{/],
  ["eval instant at 1m m{", /^got error "1:3: parse error/],
  ["eval instant at 1m m\n expect fail", /^want error of any text, got a result/],
  ["eval instant at 1m m{\n expect fail msg: no", /^want error "no", got "/],
  ["eval instant at 1m quantile(2, m)\n expect no_warn\n {} Inf", /^no warning wanted, got PromQL/],
  [
    "eval instant at 1m quantile(2, m)\n expect warn msg: other\n {} Inf",
    /^want warning "other", got /,
  ],
  ["eval instant at 1m sum(m)\n expect warn\n {} 7", /^want warning of any text, got none/],
  ["eval instant at 1m sum(m)\n expect info\n {} 7", /^want info of any text, got none/],
];
for (const [script, failure] of failing) {
  test(`not as expected: ${script.replaceAll("\n", " ⏎ ")}`, async () => {
    const [found] = await failuresOf(script);
    assert.match(found ?? "nothing was wrong", failure);
  });
}

/** Forwards everything, and records the queries. */
function recording(): { engine: ScriptEngine; asked: string[] } {
  const inner = createDirectEngine(1);
  const asked: string[] = [];
  const query = async (text: string, params: QueryParams) => {
    const { startMs } = params.grid;
    asked.push(`${params.instant ? "at" : `${stepCount(params.grid)} from`} ${startMs}: ${text}`);
    return await inner.query(text, params);
  };
  return { engine: { ...inner, query }, asked };
}

test("an instant query is asked at other times with @, and each as a range query", async () => {
  const { engine, asked } = recording();
  await runScript("t", `${data}\neval instant at 2m sum(m)\n {} 9\n`, engine);
  const at = "sum(m @ 120.000)";
  const pairs = (query: string, ...times: number[]) =>
    times.flatMap((time) => [`at ${time}: ${query}`, `3 from ${time - 60_000}: ${query}`]);
  const want = [
    ...pairs("sum(m)", 120_000),
    ...pairs(at, -1_200_000, 0, 24_000, 120_000, 1_200_000),
  ];
  assert.deepEqual(new Set(asked), new Set(want));
  assert.equal(asked.length, want.length);
});

const askedCounts = [
  { what: "what depends on the time gets no @", evaluation: "time()\n 120", count: 2 },
  {
    what: "a range vector is asked at its times only",
    evaluation: 'm{a="1"}[1m]\n expect range vector from 2m to 2m step 1m\n m{a="1"} 3',
    count: 6,
  },
  {
    what: "what uses the query's range is not asked as a range",
    evaluation: "sum_over_time(m[step()])\n expect fail",
    count: 6,
  },
  {
    what: "an expected failure is not asked as a range",
    evaluation: "topk(1e30, m)\n expect fail",
    count: 6,
  },
];
for (const { what, evaluation, count } of askedCounts) {
  test(what, async () => {
    const { engine, asked } = recording();
    await runScript("t", `${data}\neval instant at 2m ${evaluation}\n`, engine);
    assert.equal(asked.length, count, asked.join("\n"));
  });
}

test("an engine that breaks fails the case, and the others still run", async () => {
  const inner = createDirectEngine(1);
  const engine: ScriptEngine = {
    ...inner,
    query: async (text, params) => {
      if (text.startsWith("m")) throw new Error("out of order");
      return await inner.query(text, params);
    },
  };
  const script = `${data}\neval instant at 0 m\n\neval instant at 0 1\n 1\n`;
  const [broken, fine] = await runScript("t", script, engine);
  assert.match(broken?.failure ?? "", /^the engine broke: Error: out of order/);
  assert.equal(fine?.failure, undefined);
});
