/** Takes spans by OTLP over HTTP, as a tracing backend would. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface CollectedSpan {
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string };
  }[];
}

export interface SpanCollector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  close(): void;
}

interface OtlpBody {
  readonly resourceSpans: readonly {
    readonly resource: Pick<CollectedSpan, "attributes">;
    readonly scopeSpans: readonly { readonly spans: readonly Omit<CollectedSpan, "service">[] }[];
  }[];
}

export async function startSpanCollector(): Promise<SpanCollector> {
  const spans: CollectedSpan[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    for (const { resource, scopeSpans } of (JSON.parse(text) as OtlpBody).resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === "service.name")?.value
        .stringValue;
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        spans.push({ ...span, service: service ?? "" });
      }
    }
    response.end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
