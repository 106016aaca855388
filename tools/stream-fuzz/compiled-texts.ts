/**
 * Looks at every text that becomes code: no name and no literal of a person may be part of one
 * (SX104). The corpus marks both, so that they are recognised wherever they turn up.
 */

/** Part of every name and text that the fuzzer's statements hold. */
export const nameMark = "zqx";
/** The digits that numbers of the fuzzer's statements begin with. */
export const numberMark = "76543";

const found: string[] = [];
let count = 0;

/** Compiled texts, so that a million parsers of one shape are compiled once. */
const compiled = new Map<string, object>();
const compiledMax = 5_000;

/** From now on texts are looked at. Called once in a thread. */
export function watchCompiledTexts(): void {
  globalThis.Function = new Proxy(globalThis.Function, {
    construct(target, args: string[]) {
      const key = args.join("\n");
      const known = compiled.get(key);
      if (known !== undefined) return known;
      look(args);
      if (compiled.size >= compiledMax) compiled.clear();
      const made = Reflect.construct(target, args) as object;
      compiled.set(key, made);
      return made;
    },
  });
}

function look(args: readonly string[]): void {
  count += 1;
  const text = args.join("\n");
  const at = text.toLowerCase().search(/zqx|76543/);
  if (at >= 0) found.push(text.slice(Math.max(0, at - 100), at + 100));
}

/** What was found since the last call. */
export function takeFoundTexts(): readonly string[] {
  return found.splice(0);
}

export function compiledCount(): number {
  return count;
}
