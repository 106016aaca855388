/** What every command that calls a running Capstan needs. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ApiClient, type Connection } from "./client/api-client.ts";
import { exitCodes } from "./exit-codes.ts";
import { Failure } from "./failure.ts";
import { processTerminal, type Terminal } from "./output/terminal.ts";

export interface ClientOptions {
  readonly url?: string;
  readonly tokenFile?: string;
  readonly json?: boolean;
}

export interface CommandContext {
  readonly terminal: Terminal;
  readonly client: ApiClient;
  readonly json: boolean;
}

export const defaultUrl = "http://127.0.0.1:4600";

export function commandContext(options: ClientOptions): CommandContext {
  return {
    terminal: processTerminal(),
    client: new ApiClient(connectionOf(options)),
    json: options.json === true,
  };
}

function connectionOf({ url, tokenFile }: ClientOptions): Connection {
  const { CAPSTAN_URL, CAPSTAN_TOKEN } = process.env;
  const chosen = url ?? CAPSTAN_URL ?? urlOfUp() ?? defaultUrl;
  if (!/^https?:\/\/[^/]+\/?$/.test(chosen)) {
    const example = `It looks like ${defaultUrl}.`;
    throw new Failure(
      "usage",
      `${JSON.stringify(chosen)} is not a URL of Capstan`,
      exitCodes.usage,
      example,
    );
  }
  const token = tokenFile === undefined ? CAPSTAN_TOKEN : readToken(tokenFile);
  return { url: chosen.replace(/\/$/, ""), token: token === "" ? undefined : token };
}

/** The address of a `capstan up` in this directory, which may have been given another port. */
function urlOfUp(): string | undefined {
  try {
    const { url } = JSON.parse(readFileSync(join(".capstan", "up.json"), "utf8")) as {
      url?: unknown;
    };
    return typeof url === "string" ? url : undefined;
  } catch {
    return undefined;
  }
}

function readToken(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch {
    throw new Failure("usage", `cannot read the token file ${file}`, exitCodes.usage);
  }
}
