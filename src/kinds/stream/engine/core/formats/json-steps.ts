/** Paths through JSON: `$.user.id`, `$.user['first name']`, `$.tags[0]`. */
import { DialectError } from "../../../language/core/index.ts";

/** A key is a text, a place in an array is a number counted from 0. */
export function stepsOfPath(path: string): readonly (string | number)[] {
  const steps: (string | number)[] = [];
  const step = /\.([^.[\]'"]+)|\[(?:'([^']*)'|"([^"]*)"|([0-9]{1,9}))\]/y;
  if (path.startsWith("$")) {
    step.lastIndex = 1;
    for (let match = step.exec(path); match !== null; match = step.exec(path)) {
      const index = match[4];
      steps.push(index === undefined ? (match[1] ?? match[2] ?? match[3] ?? "") : Number(index));
      if (step.lastIndex === path.length) return steps;
    }
  }
  throw new DialectError(1000, `'${path}' is no path through JSON`, {
    hint: "Paths look like '$.user.id', '$.user[\"first name\"]' or '$.tags[0]'.",
  });
}
