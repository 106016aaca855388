import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
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

  // Prometheus's names of the two routes, which promtool, Grafana and load balancers use.
  app.get(
    "/-/healthy",
    { config: { access: "public" }, schema: { hide: true } },
    async (_, reply) => reply.type("text/plain; charset=utf-8").send("Capstan is healthy.\n"),
  );
  app.get(
    "/-/ready",
    { config: { access: "public" }, schema: { hide: true } },
    async (_, reply) => {
      const { ready, reason, parts } = ports.ready();
      const failed = parts.filter(({ state }) => state === "failed").map(({ name }) => name);
      const why = failed.length > 0 ? `failed: ${failed.join(", ")}` : (reason ?? "");
      const text = `Capstan is ${ready ? "" : "not "}ready${why === "" ? "" : ` (${why})`}.\n`;
      return await reply
        .code(ready ? 200 : 503)
        .type("text/plain; charset=utf-8")
        .send(text);
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
    async (request, reply) => {
      const { contentType, text } = await ports.metrics(request.headers.accept);
      return await reply.type(contentType).send(text);
    },
  );
}
