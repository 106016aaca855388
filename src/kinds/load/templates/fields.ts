/** Fields of a template as zod schemas whose messages say what was expected, in our words. */
import { z } from "zod";
import { unknownField } from "../../../ground/kernel/unknown-field.ts";
import type { TemplateProblem } from "./document.ts";

export function expected(what: string): { readonly error: () => string } {
  return { error: () => `expected ${what}` };
}

/** No other field than these; one that is not there gets a suggestion. */
export function fields<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
  what = "a mapping",
): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== "unrecognized_keys") return `expected ${what}`;
      return issue.keys.map((key) => unknownField(key, known)).join("; ");
    },
  });
}

export function whole(min: number, max: number = Number.MAX_SAFE_INTEGER): z.ZodNumber {
  const what = expected(`a whole number ${range(min, max)}`);
  return z.number(what).int(what).min(min, what).max(max, what);
}

export function decimal(min: number, max: number = Number.MAX_VALUE): z.ZodNumber {
  const what = expected(`a number ${range(min, max)}`);
  return z.number(what).min(min, what).max(max, what);
}

export function above(least: number): z.ZodNumber {
  const what = expected(`a number above ${least}`);
  return z.number(what).gt(least, what);
}

/** `null`, and `-1` as the specification writes it: no limit. `usual`: where nothing is said. */
export function limit<Inner extends z.ZodNumber>(
  inner: Inner,
  usual: number | null = null,
): z.ZodDefault<z.ZodPreprocess<z.ZodNullable<Inner>>> {
  const own = z.preprocess((value) => (value === -1 ? null : value), inner.nullable());
  return own.default(usual as never);
}

export function text(max: number, what = "a text"): z.ZodString {
  const problem = expected(`${what} of at most ${max} characters`);
  return z.string(problem).max(max, problem);
}

export function flag(): z.ZodBoolean {
  return z.boolean(expected("true or false"));
}

export function oneOf<const Values extends readonly [string, ...string[]]>(
  ...values: Values
): z.ZodEnum<{ [Value in Values[number]]: Value }> {
  return z.enum(values, expected(`one of ${values.join(", ")}`));
}

export function list<Item extends z.ZodType>(item: Item): z.ZodArray<Item> {
  return z.array(item, expected("a list"));
}

/** Each once; of a union, what its nearest branch says. */
export function problemsOf(error: z.ZodError, path: readonly PropertyKey[]): TemplateProblem[] {
  const seen = new Map<string, TemplateProblem>();
  for (const issue of error.issues) {
    const problem = {
      path: formatPath([...path, ...issue.path]),
      message: issue.message,
    };
    seen.set(`${problem.path}\0${problem.message}`, problem);
  }
  return [...seen.values()];
}

export function formatPath(path: readonly PropertyKey[]): string {
  return path
    .map((part, at) => {
      if (typeof part === "number") return `[${part}]`;
      return at === 0 ? String(part) : `.${String(part)}`;
    })
    .join("");
}

function range(min: number, max: number): string {
  const isOpen = max === Number.MAX_SAFE_INTEGER || max === Number.MAX_VALUE;
  return isOpen ? `of at least ${min}` : `from ${min} to ${max}`;
}
