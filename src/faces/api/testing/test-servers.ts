/** API servers of a test file, which end with it. */
import { after } from "node:test";
import type { ApiPorts } from "../ports.ts";
import { type Api, type ApiConfig, startApi } from "../server.ts";
import { FakeCluster } from "./fake-ports.ts";

export interface TestServer {
  readonly api: Api;
  readonly cluster: FakeCluster;
}

export type StartTestServer = (
  config: ApiConfig,
  cluster?: FakeCluster,
  ports?: Partial<ApiPorts>,
) => Promise<TestServer>;

/** Called once in each test file, since files may share a process. */
export function createTestServers(): StartTestServer {
  const open: Api[] = [];
  after(async () => {
    for (const api of open) {
      api.drain();
      api.force();
      await api.close();
    }
  });
  return async (config, cluster = new FakeCluster(), ports = {}) => {
    const api = await startApi(config, { ...cluster.ports(), ...ports });
    open.push(api);
    return { api, cluster };
  };
}
