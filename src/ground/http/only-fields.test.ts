import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { onlyFields } from "./only-fields.ts";

const schema = onlyFields({ schema: z.string().optional(), type: z.int() });

test("[AP52] a field that is not known is an error with the one that was probably meant", () => {
  const messageOf = (value: unknown): string => schema.safeParse(value).error?.message ?? "taken";
  assert.equal(messageOf({ type: 1 }), "taken");
  assert.match(
    messageOf({ type: 1, shema: "" }),
    /there is no field .*shema.*; did you mean schema\?/,
  );
  assert.match(messageOf({ type: 1, colour: "" }), /it may have schema, type/);
  assert.match(messageOf({ type: "a" }), /expected int|expected number/);
  assert.match(messageOf(7), /expected object/);
});
