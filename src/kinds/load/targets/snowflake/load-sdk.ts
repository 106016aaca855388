/**
 * snowflake-sdk, which is not installed with Capstan (122 MB): an optional peer, loaded when it is
 * used, with walls around what a server's answer could make it do as Capstan's user. Rules: SF6
 * and SF7.
 */
import { createRequire } from "node:module";
import type { LookupFunction } from "node:net";
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import { isMetadataHost, metadataRefusal } from "../../core/target-host.ts";
import { guardedLookup } from "../guarded-lookup.ts";
import { hostOf } from "../target-url.ts";

export type Sdk = typeof import("snowflake-sdk");

/** What is used of the client's own modules. */
interface StatementModule {
  executeFileTransferRequest(context: object, body: object, statement: object): Promise<void>;
}
interface AxiosModule {
  readonly default: {
    readonly defaults: {
      lookup?: LookupFunction;
      beforeRedirect?: (options: { readonly hostname: string }) => void;
    };
    readonly interceptors: {
      readonly request: { use<T extends { readonly url?: string }>(each: (given: T) => T): void };
    };
  };
}

const transfers = "./lib/file_transfer_agent/file_transfer_agent.js";
const statements = "./lib/connection/statement.js";
const requests = "./lib/http/axios_instance.js";

let loading: Promise<Sdk> | undefined;

/** Rejects with `unsupported` where the client is not installed, or has another inside. */
export function loadSdk(): Promise<Sdk> {
  loading ??= load();
  return loading;
}

async function load(): Promise<Sdk> {
  const ours = createRequire(import.meta.url);
  let main: string;
  try {
    main = ours.resolve("snowflake-sdk");
  } catch {
    throw unsupported("the client of Snowflake is not installed");
  }
  const inside = createRequire(main);
  try {
    if (inside.cache[inside.resolve(statements)] !== undefined) {
      throw unsupported("the client of Snowflake was loaded without its walls");
    }
    replaceTransfers(inside);
    process.env.SNOWFLAKE_DISABLE_PLATFORM_DETECTION = "true"; // It asks metadata services.
    const sdk = ours("snowflake-sdk") as Sdk;
    await checkTransfers(inside(statements) as StatementModule);
    guardRequests(inside(requests) as AxiosModule);
    sdk.configure({ logLevel: "OFF", additionalLogToConsole: false }); // It would write a file.
    return sdk;
  } catch (thrown) {
    if (thrown instanceof OperatingError) throw thrown;
    throw unsupported("this version of Snowflake's client is not one that Capstan knows");
  }
}

/** Thrown instead of a transfer. */
class TransferRefusal extends Error {}

/** SF6 */
function replaceTransfers(inside: NodeJS.Require): void {
  const id = inside.resolve(transfers);
  const refuse = function FileTransferAgent(): never {
    throw new TransferRefusal("a load test of Snowflake transfers no files");
  };
  // What CommonJS looks at when a module is asked for is its id, `loaded` and `exports`.
  inside.cache[id] = Object.assign(Object.create(null), {
    ...{ id, filename: id, path: id, loaded: true, exports: refuse },
    ...{ children: [], paths: [], parent: null, isPreloading: false, require: inside },
  }) as NodeJS.Module;
}

async function checkTransfers({ executeFileTransferRequest }: StatementModule): Promise<void> {
  try {
    await executeFileTransferRequest({}, {}, {});
  } catch (thrown) {
    if (thrown instanceof TransferRefusal) return;
  }
  throw unsupported("this version of Snowflake's client would transfer files");
}

/** SF7. An address is not looked up, so it is judged apart. */
function guardRequests({ default: axios }: AxiosModule): void {
  axios.defaults.lookup = guardedLookup;
  axios.defaults.beforeRedirect = ({ hostname }) => checkReachable(hostname);
  axios.interceptors.request.use((given) => {
    if (given.url !== undefined) checkReachable(hostOf(new URL(given.url)));
    return given;
  });
}

function checkReachable(host: string): void {
  if (isMetadataHost(host.replace(/^\[(.*)\]$/, "$1"))) throw metadataRefusal(host);
}

function unsupported(message: string): OperatingError {
  return new OperatingError("unsupported", "never", message, {
    hint: "npm install snowflake-sdk@3.3.0 (122 MB), beside Capstan",
  });
}
