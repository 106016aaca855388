/** In a process of its own, because the flags belong to the process. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

/** Calls a function until V8 has optimized it, and prints how often that was. */
const code = (settings: readonly boolean[]): string => `
  import { compileEarly } from ${JSON.stringify(new URL("./compile-early.ts", import.meta.url))};
  for (const isEarly of ${JSON.stringify(settings)}) compileEarly(isEarly);
  const optimized = (1 << 5) | (1 << 6); // By Maglev, by TurboFan.
  const add = (a, b) => a.value + b.value;
  let calls = 0;
  const look = () => {
    if ((%GetOptimizationStatus(add) & optimized) !== 0 || calls === 5_000) {
      console.log(calls);
      return;
    }
    calls += 1;
    add({ value: calls }, { value: 1 });
    // The compiler runs beside this thread: it has time between calls.
    setTimeout(look, ${settings.at(-1) === true} && calls > 30 ? 5 : 0);
  };
  look();`;

function callsUntilOptimized(settings: readonly boolean[]): number {
  const flags = ["--allow-natives-syntax", "--input-type=module", "--eval", code(settings)];
  return Number(execFileSync(process.execPath, flags, { encoding: "utf8" }));
}

test("[PR19] a function is optimized after dozens of calls instead of hundreds", () => {
  const calls = callsUntilOptimized([true]);
  assert.ok(calls >= 30 && calls < 400, `after ${calls} calls`);
});

for (const settings of [[], [true, false]]) {
  test(`[PR19] by V8's own numbers it takes hundreds: ${JSON.stringify(settings)}`, () => {
    const calls = callsUntilOptimized(settings);
    assert.ok(calls >= 400, `after ${calls} calls`);
  });
}
