/** Builds `/openapi.json` from the schemas, and adds what they cannot express. */
import type { SwaggerOptions } from "@fastify/swagger";
import {
  createJsonSchemaTransform,
  createJsonSchemaTransformObject,
} from "fastify-type-provider-zod";
import { z } from "zod";
import { errorSchema } from "../../ground/http/index.ts";

/** Answers that are not JSON. Their schema describes the text. */
const streamTypes: Readonly<Record<string, string>> = {
  "/api/v1/sql": "application/x-ndjson",
  "/api/v1/watch": "text/event-stream",
  "/api/v1/live": "text/event-stream",
  "/api/v1/streams/preview": "text/event-stream",
  "/metrics": "text/plain",
};

interface Response {
  readonly description: string;
  readonly content?: Readonly<Record<string, unknown>>;
}

type Paths = Record<string, Record<string, { responses?: Record<string, Response> }>>;

interface SchemaPair {
  readonly zodSchema: z.core.$ZodTypes;
  readonly jsonSchema: z.core.JSONSchema.BaseSchema;
}

/** Answers may get more fields, so clients must not refuse unknown ones. */
const zodToJsonConfig = {
  override({ zodSchema, jsonSchema }: SchemaPair) {
    const { def } = zodSchema._zod;
    if (def.type === "object" && def.catchall === undefined) delete jsonSchema.additionalProperties;
  },
};

/** Every schema with an id becomes a component. No request body contains one. */
const addComponents = createJsonSchemaTransformObject({ zodToJsonConfig });

export function openApiOptions(version: string): SwaggerOptions {
  return {
    openapi: {
      openapi: "3.1.0",
      info: { title: "Capstan", version },
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
    },
    transform: createJsonSchemaTransform({ zodToJsonConfig }),
    transformObject(document) {
      if (!("openapiObject" in document)) return {};
      const { components, ...described } = addComponents(document) as typeof document.openapiObject;
      describeStreams((described.paths ?? {}) as Paths);
      describeErrors((described.paths ?? {}) as Paths);
      const schemas = Object.entries(components?.schemas ?? {});
      const answers = Object.fromEntries(schemas.filter(([name]) => !name.endsWith("Input")));
      return { ...described, components: { ...components, schemas: answers } };
    },
  };
}

function describeStreams(paths: Paths): void {
  for (const [path, type] of Object.entries(streamTypes)) {
    for (const { responses = {} } of Object.values(paths[path] ?? {})) {
      const found = responses["200"];
      const described = found?.content?.["application/json"];
      if (found !== undefined) responses["200"] = { ...found, content: { [type]: described } };
    }
  }
}

/** Any route may fail in any of the ways in SPEC.md, always with the same body. */
function describeErrors(paths: Paths): void {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(errorSchema);
  const error = {
    description: "Every failure, with the status that fits its code.",
    content: { "application/json": { schema } },
  };
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    operation.responses = { ...operation.responses, default: error };
  }
}
