/** Schemas that routes of several rooms share. */
import { z } from "zod";

export const errorSchema = z
  .object({
    code: z.string().describe("For programs: stable."),
    message: z.string().describe("For people."),
    hint: z.string().optional().describe("What could be done about it."),
    number: z.number().int().optional().describe("The error's number in its dialect."),
    position: z
      .object({ line: z.number().int(), column: z.number().int() })
      .optional()
      .describe("Where in the text that was sent; both count from 1."),
    statement: z
      .number()
      .int()
      .optional()
      .describe("Which of several statements it is about, from 1; the position is in that one."),
  })
  .describe("Every error has this shape.");

/**
 * A serializer that does not validate: the compiler alone checks the answer against its schema. It
 * also sends fields that the schema does not name, and accepts a stored document of an earlier
 * version that lacks a field.
 */
export const asItIs = () => (body: unknown) => JSON.stringify(body);

export const pageQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(1000).default(100),
  page_token: z.string().max(200).optional(),
});
