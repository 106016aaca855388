/**
 * Writes the dashboard's types of the API (`web/src/api/gen/types.ts`) from the components of
 * `/openapi.json`: `node tools/web-types.ts`. `web-types.test.ts` fails when the file is not what
 * the routes say now. It knows the words of JSON Schema that zod writes, and throws at any other.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startApi } from "../src/faces/api/index.ts";
import { apiConfig, FakeCluster } from "../src/faces/api/testing/fake-ports.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
}

export const typesFile = join(import.meta.dirname, "../web/src/api/gen/types.ts");

/** The text of the file, as the routes of a whole coordinator say. */
export async function webTypes(): Promise<string> {
  const api = await startApi(apiConfig(), new FakeCluster().ports());
  try {
    const response = await fetch(`${api.url}/openapi.json`);
    const { components } = (await response.json()) as {
      readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
    };
    return typesOf(components.schemas);
  } finally {
    api.force();
    await api.close();
  }
}

export function typesOf(schemas: Readonly<Record<string, Schema>>): string {
  const types = Object.entries(schemas)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(
      ([name, schema]) => `${comment(schema, "")}export type ${name} = ${typeOf(schema, "")};\n`,
    );
  return `// Generated from /openapi.json by tools/web-types.ts. Do not edit.\n\n${types.join("\n")}`;
}

function typeOf(schema: Schema, indent: string): string {
  if (schema.$ref !== undefined) return schema.$ref.replace("#/components/schemas/", "");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" | ");
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined) return choices.map((each) => typeOf(each, indent)).join(" | ");
  const { type } = schema;
  if (typeof type === "object")
    return type.map((each) => typeOf({ type: each }, indent)).join(" | ");
  switch (type) {
    case "string":
    case "number":
    case "boolean":
    case "null":
      return type;
    case "integer":
      return "number";
    case "array":
      return arrayOf(schema, indent);
    case "object":
      return objectOf(schema, indent);
    case undefined:
      return "unknown";
    default:
      throw new Error(`there is no type for ${JSON.stringify(schema)}`);
  }
}

function arrayOf({ prefixItems, items = {} }: Schema, indent: string): string {
  return prefixItems === undefined
    ? `readonly (${typeOf(items, indent)})[]`
    : `readonly [${prefixItems.map((each) => typeOf(each, indent)).join(", ")}]`;
}

function objectOf(schema: Schema, indent: string): string {
  const { properties, required = [], additionalProperties } = schema;
  if (properties === undefined) {
    const values = typeof additionalProperties === "object" ? additionalProperties : {};
    return `Readonly<Record<string, ${typeOf(values, indent)}>>`;
  }
  const inner = `${indent}  `;
  const fields = Object.entries(properties).map(([name, field]) => {
    const mark = required.includes(name) ? "" : "?";
    return `${comment(field, inner)}${inner}readonly ${name}${mark}: ${typeOf(field, inner)};\n`;
  });
  return `{\n${fields.join("")}${indent}}`;
}

function comment({ description }: Schema, indent: string): string {
  return description === undefined ? "" : `${indent}/** ${description} */\n`;
}

if (import.meta.main) await writeFile(typesFile, await webTypes());
