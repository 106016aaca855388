import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { after, test } from "node:test";
import { ApiClient } from "../../../ground/command/client/api-client.ts";
import type { CommandContext } from "../../../ground/command/context.ts";
import { createPaint } from "../../../ground/command/output/terminal.ts";
import { realClock } from "../../../ground/kernel/node/real-clock.ts";
import { runMetricsImport } from "./metrics-import.ts";
import { runPromql } from "./promql.ts";

const answers: Readonly<Record<string, object>> = {
  "/api/v1/imports": { import_id: "i-1" },
  "/api/v1/query": {
    status: "success",
    data: { resultType: "string", result: [1, "\u001b[31mred"] },
    warnings: ["\u001b[2Jgone"],
  },
};
const asked: string[] = [];
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url}`);
  request.resume();
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify(answers[request.url ?? ""] ?? {}));
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
after(() => {
  server.closeAllConnections();
  server.close();
});

const never = new AbortController().signal;
const paint = createPaint(false);

function contextOf(written: string[]): CommandContext {
  const { port } = server.address() as AddressInfo;
  const write = (text: string): void => void written.push(text);
  return {
    client: new ApiClient({ url: `http://127.0.0.1:${port}`, token: undefined }),
    json: false,
    terminal: {
      out: write,
      err: write,
      interactive: false,
      columns: 80,
      paint,
      paintError: paint,
    },
  };
}

test("[CM16] an import of what cannot be read is given up, and says so", async () => {
  await assert.rejects(runMetricsImport(contextOf([]), tmpdir(), {}, realClock, never), {
    name: "Failure",
    code: "usage",
    message: new RegExp(`^cannot read ${tmpdir()}: EISDIR`),
  });
  assert.equal(asked.at(-1), "DELETE /api/v1/imports/i-1");
});

test("[CM15] a text and a note change nothing in the terminal", async () => {
  const written: string[] = [];
  await runPromql(contextOf(written), '"x"', {}, 0, never);
  assert.deepEqual(written, ["\\u001b[31mred\n", "note: \\u001b[2Jgone\n"]);
});
