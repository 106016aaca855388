/**
 * Objects of requests that have these fields and no others (AP52): a field that is misspelt would
 * otherwise be left out without a word.
 */
import { z } from "zod";
import { unknownField } from "../kernel/unknown-field.ts";

export function onlyFields<Shape extends z.core.$ZodLooseShape>(
  shape: Shape,
): z.ZodObject<Shape, z.core.$strict> {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys"
        ? issue.keys.map((key) => unknownField(key, known)).join("; ")
        : undefined,
  });
}
