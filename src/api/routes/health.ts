import { z } from "zod";
import type { ApiApp } from "../api-app.ts";
import type { ApiPorts } from "../ports.ts";
import { readySchema } from "../schemas.ts";

export function installHealth(app: ApiApp, ports: ApiPorts): void {
  app.get(
    "/healthz",
    {
      config: { access: "public" },
      schema: {
        summary: "Whether the process lives",
        tags: ["process"],
        response: { 200: z.object({ ok: z.literal(true) }) },
      },
    },
    async () => ({ ok: true as const }),
  );

  app.get(
    "/readyz",
    {
      config: { access: "public" },
      schema: {
        summary: "Whether queries are answered here: by the leader, or by a query-api",
        tags: ["process"],
        response: { 200: readySchema, 503: readySchema },
      },
    },
    async (_request, reply) => {
      const ready = ports.ready();
      return await reply.code(ready.ready ? 200 : 503).send(ready);
    },
  );

  app.get(
    "/metrics",
    {
      config: { access: "read" },
      schema: {
        summary: "Prometheus metrics",
        tags: ["process"],
        response: { 200: z.string() },
      },
      serializerCompiler: () => (text) => String(text),
    },
    async (_request, reply) => {
      const { contentType, text } = await ports.metrics();
      return await reply.type(contentType).send(text);
    },
  );
}
