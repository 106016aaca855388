import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { typesFile, typesOf, webTypes } from "./web-types.ts";

test("the dashboard's types are what the routes say: node tools/web-types.ts writes them", async () => {
  assert.equal(await readFile(typesFile, "utf8"), await webTypes());
});

test("every word of JSON Schema that zod writes has its type, and any other is an error", () => {
  const schema = {
    type: "object",
    description: "A thing.",
    properties: {
      of: { $ref: "#/components/schemas/Other" },
      word: { enum: ["a", "b"] },
      maybe: { anyOf: [{ type: "integer" }, { type: "null" }] },
      pair: { type: "array", prefixItems: [{ type: "number" }, { type: "boolean" }] },
      least: { type: ["number", "null"] },
      rows: { type: "array", items: { type: "object", additionalProperties: {} } },
    },
    required: ["of", "word", "pair"],
  };
  assert.equal(
    typesOf({ Thing: schema, Other: { const: "x" } }).replace(/^.*\n\n/, ""),
    `export type Other = "x";

/** A thing. */
export type Thing = {
  readonly of: Other;
  readonly word: "a" | "b";
  readonly maybe?: number | null;
  readonly pair: readonly [number, boolean];
  readonly least?: number | null;
  readonly rows?: readonly (Readonly<Record<string, unknown>>)[];
};
`,
  );
  assert.throws(() => typesOf({ Odd: { type: "odd" } }));
});
