/**
 * Functions made of source text, each text compiled once in a process. Queries of one shape share
 * the text and so what the platform has learnt of it: a run of Nexmark's q8 takes 80 ms instead of
 * 300 where its parsers have run before. What differs between queries is an argument.
 */

/** More shapes than this are not kept. */
const shapesMax = 2_000;

const shapes = new Map<string, unknown>();

/** How many shapes are compiled; for tests. */
export function shapeCount(): number {
  return shapes.size;
}

/** `text` is the body of a function with these parameters. */
export function compileShape<Shape>(parameters: readonly string[], text: string): Shape {
  const key = `${parameters.join(",")}\n${text}`;
  const known = shapes.get(key);
  if (known !== undefined) return known as Shape;
  const compiled: unknown = new Function(...parameters, text);
  if (shapes.size >= shapesMax) shapes.clear();
  shapes.set(key, compiled);
  return compiled as Shape;
}
