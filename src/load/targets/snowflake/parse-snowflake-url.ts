/** `snowflake://user@account/DATABASE/SCHEMA?warehouse=W&role=R`; `access_url` for a server that is not `account`'s usual one. */
import { OperatingError } from "../../../kernel/errors.ts";

export interface SnowflakeAddress {
  readonly account: string;
  readonly accessUrl: string;
  readonly host: string;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly schema: string;
  readonly warehouse: string | undefined;
  readonly role: string | undefined;
}

export function parseSnowflakeUrl(
  text: string,
  secret: string | null,
  warehouse: string | null,
): SnowflakeAddress {
  let url: URL;
  let password: string;
  try {
    url = new URL(text);
    password = secret ?? decodeURIComponent(url.password);
    decodeURIComponent(url.username + url.pathname);
  } catch {
    throw refusal("it is no URL");
  }
  if (url.protocol !== "snowflake:") throw refusal(`it begins with ${url.protocol}`);
  const [database = "", schema = "PUBLIC", ...rest] = url.pathname.slice(1).split("/");
  if (!/^[\w.-]+$/.test(url.hostname) || url.port !== "") throw refusal("it names no account");
  if (database === "" || rest.length > 0) throw refusal("it names no database");
  const settings = new Map(url.searchParams);
  for (const name of settings.keys()) {
    if (!["warehouse", "role", "access_url"].includes(name)) {
      throw refusal(`there is no setting ${name}`);
    }
  }
  const accessUrl = settings.get("access_url") ?? `https://${url.hostname}.snowflakecomputing.com`;
  if (!URL.canParse(accessUrl) || !/^https?:/.test(accessUrl)) throw refusal("access_url is none");
  return {
    account: url.hostname,
    accessUrl,
    host: new URL(accessUrl).hostname.replace(/^\[(.*)\]$/, "$1"),
    user: decodeURIComponent(url.username),
    password,
    database: decodeURIComponent(database),
    schema: decodeURIComponent(schema),
    warehouse: warehouse ?? settings.get("warehouse"),
    role: settings.get("role"),
  };
}

/** For messages: no user, no password. */
export function snowflakePlace({ account, database, schema }: SnowflakeAddress): string {
  return `snowflake://${account}/${database}/${schema}`;
}

function refusal(why: string): OperatingError {
  return new OperatingError("bad_request", "never", `not a Snowflake URL: ${why}`, {
    hint: "snowflake://USER@ACCOUNT/DATABASE/SCHEMA?warehouse=WAREHOUSE&role=ROLE",
  });
}
