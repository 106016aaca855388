/** Ingests samples: Prometheus's remote write, and imports of files in chunks. */
import type { FastifyReply } from "fastify";
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import type { Clock } from "../../../ground/kernel/clock.ts";
import type { Prng } from "../../../ground/kernel/prng.ts";
import type { IngestService } from "../metrics/index.ts";
import { ImportSessions } from "./import-sessions.ts";

export interface WriteRouteDeps {
  /** Throws `not_leader` when another process has the head. */
  readonly ingest: () => Promise<IngestService>;
  readonly clock: Clock;
  readonly prng: Prng;
}

/** The limit of Prometheus's own receiver; a sender's default batch is some hundred kilobytes. */
const writeBytesMax = 32 * 1024 ** 2;
const chunkBytesMax = 16 * 1024 ** 2;

export function installWriteRoutes(app: ApiApp, { ingest, clock, prng }: WriteRouteDeps): void {
  app.addContentTypeParser(
    "application/x-protobuf",
    { parseAs: "buffer", bodyLimit: writeBytesMax },
    (_request, body, done) => done(null, body),
  );
  app.addContentTypeParser(
    "application/octet-stream",
    { parseAs: "buffer", bodyLimit: chunkBytesMax },
    (_request, body, done) => done(null, body),
  );
  app.post(
    "/api/v1/write",
    {
      config: { access: "operate" },
      bodyLimit: writeBytesMax,
      schema: { summary: "Prometheus remote write, 1.0 and 2.0", tags: ["prometheus"] },
    },
    async (request, reply) => {
      const { "content-type": type = "", "content-encoding": encoding = "" } = request.headers;
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
      const written = await (await ingest()).remoteWrite(body, type, encoding);
      reply.header("x-prometheus-remote-write-samples-written", written.samples);
      reply.header("x-prometheus-remote-write-histograms-written", written.histograms);
      reply.header("x-prometheus-remote-write-exemplars-written", written.exemplars);
      if (written.status === 429 || written.status === 503) reply.header("retry-after", "1");
      if (written.message === undefined) return await reply.code(written.status).send();
      return await reply
        .code(written.status)
        .type("text/plain; charset=utf-8")
        .send(`${written.message}\n`);
    },
  );
  installImports(app, new ImportSessions({ ingest, clock, prng }));
}

const importId = z.object({ id: z.string().max(64) });
const progress = z.object({ bytes: z.number(), samples: z.number(), series: z.number() });

/**
 * An import is a session: a POST opens it, chunks of the file follow in order, and a commit makes
 * everything visible at once. One long upload would need an exception from every request limit.
 */
function installImports(app: ApiApp, sessions: ImportSessions): void {
  const config = { access: "operate" } as const;
  app.post(
    "/api/v1/imports",
    {
      config,
      schema: {
        summary: "Begin an import of samples",
        tags: ["metrics"],
        body: z.object({
          format: z.enum(["openmetrics", "prometheus"]).optional(),
          on_error: z.enum(["fail", "skip"]).default("fail"),
        }),
        response: { 201: z.object({ import_id: z.string() }) },
      },
    },
    async (request, reply) => {
      const { format, on_error: onError } = request.body;
      reply.code(201);
      return { import_id: await sessions.open({ format, onError }) };
    },
  );
  app.post(
    "/api/v1/imports/:id/chunks",
    {
      config,
      bodyLimit: chunkBytesMax,
      schema: {
        summary: "The next bytes of the file (application/octet-stream)",
        tags: ["metrics"],
        params: importId,
        querystring: z.object({ offset: z.coerce.number().int().min(0) }),
        response: { 200: progress },
      },
    },
    async (request) => {
      const body: unknown = request.body;
      const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
      return await sessions.push(request.params.id, request.query.offset, bytes);
    },
  );
  app.post(
    "/api/v1/imports/:id/commit",
    {
      config,
      schema: {
        summary: "End the import: all of it becomes visible",
        tags: ["metrics"],
        params: importId,
        response: {
          200: progress.extend({ skipped: z.number(), problems: z.array(z.string()) }),
        },
      },
    },
    async (request) => await sessions.commit(request.params.id),
  );
  app.delete(
    "/api/v1/imports/:id",
    {
      config,
      schema: {
        summary: "Give an import up: nothing of it stays",
        tags: ["metrics"],
        params: importId,
      },
    },
    async (request, reply): Promise<FastifyReply> => {
      await sessions.abandon(request.params.id);
      return await reply.code(204).send();
    },
  );
}
