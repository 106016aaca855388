/**
 * The dashboard's files: `web/dist` in a clone, `dist/web` in a package. They are looked up for
 * every page, because a first start may still be building them.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { ApiApp } from "../../../ground/http/index.ts";
import { isFromElsewhere, markedPage } from "../arrival-mark.ts";

export interface DashboardConfig {
  /** The directories to search. The first with an index.html is served. */
  readonly dirs: readonly string[];
}

export async function installDashboard(
  app: ApiApp,
  { dirs }: DashboardConfig,
): Promise<(request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined> {
  await app.register(fastifyStatic, { root: dirs[0] ?? "/", serve: false });
  const rootOf = (): string | undefined => dirs.find((dir) => existsSync(join(dir, "index.html")));

  app.get(
    "/assets/*",
    {
      config: { access: "public" },
      schema: { hide: true, params: z.object({ "*": z.string() }) },
    },
    async (request, reply) => {
      // Vite puts a hash of the content into these names.
      const options = { maxAge: "365d", immutable: true };
      return reply.sendFile(`assets/${request.params["*"]}`, rootOf() ?? "", options);
    },
  );

  /** Answers for pages and the files beside them; undefined for everything else. */
  return (request, reply) => {
    if (request.method !== "GET" && request.method !== "HEAD") return undefined;
    const path = request.url.replace(/[?#].*$/, "");
    if (path.startsWith("/api/") || path.startsWith("/assets/")) return undefined;
    const root = rootOf();
    const file = /^\/[a-z0-9-]+\.[a-z0-9]+$/.test(path) ? path.slice(1) : undefined;
    if (file !== undefined) {
      if (root === undefined || !existsSync(join(root, file))) return undefined;
      return reply
        .header("cache-control", "no-cache")
        .sendFile(file, root, { cacheControl: false });
    }
    if (!(request.headers.accept ?? "").includes("text/html") && path !== "/") return undefined;
    reply.header("cache-control", "no-cache");
    if (root === undefined) return reply.type("text/html; charset=utf-8").send(notBuiltPage);
    if (!isFromElsewhere(request.headers["sec-fetch-site"])) {
      return reply.sendFile("index.html", root, { cacheControl: false });
    }
    // Not cached: a copy in the browser's cache would lack the mark.
    return reply
      .header("cache-control", "no-store")
      .type("text/html; charset=utf-8")
      .send(markedPage(readFileSync(join(root, "index.html"), "utf8")));
  };
}

const notBuiltPage = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Capstan</title>
<h1>Capstan is running, its dashboard is not built</h1>
<p>In a clone, <code>npm start</code> builds it; by hand: <code>npx capstan dashboard</code>.</p>
<p>Everything else works: <a href="/api/v1/status">status</a>, <a href="/api/v1/workers">workers</a>,
<a href="/metrics">metrics</a>, <a href="/openapi.json">the API's description</a>, and <code>capstan --help</code>.</p>
</html>
`;
