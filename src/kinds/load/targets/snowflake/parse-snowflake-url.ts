/**
 * `snowflake://user@account/DATABASE/SCHEMA?warehouse=W&role=R`; `access_url` for a server that is
 * not `account`'s usual one.
 */
import { hostOf, TargetUrl, type UrlForm } from "../target-url.ts";

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

const form: UrlForm = {
  name: "a Snowflake",
  schemes: ["snowflake"],
  hint: "snowflake://USER@ACCOUNT/DATABASE/SCHEMA?warehouse=WAREHOUSE&role=ROLE",
};

export function parseSnowflakeUrl(
  text: string,
  secret: string | null,
  warehouse: string | null,
): SnowflakeAddress {
  const url = new TargetUrl(text, form);
  const [database = "", schema = "PUBLIC", ...rest] = url.rawPath.slice(1).split("/");
  if (!/^[\w.-]+$/.test(url.host) || url.port !== "") throw url.refusal("it names no account");
  if (database === "" || rest.length > 0) throw url.refusal("it names no database");
  const accessUrl = url.take("access_url") ?? `https://${url.host}.snowflakecomputing.com`;
  if (!URL.canParse(accessUrl) || !/^https?:/.test(accessUrl)) {
    throw url.refusal("access_url is none");
  }
  const usual = url.take("warehouse");
  const role = url.take("role");
  url.checkSettings();
  return {
    account: url.host,
    accessUrl,
    host: hostOf(new URL(accessUrl)),
    user: url.user,
    password: secret ?? url.password,
    database: decodeURIComponent(database),
    schema: decodeURIComponent(schema),
    warehouse: warehouse ?? usual,
    role,
  };
}

/** For messages: no user, no password. */
export function snowflakePlace({ account, database, schema }: SnowflakeAddress): string {
  return `snowflake://${account}/${database}/${schema}`;
}
