import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { hasOneHost, RequestGuard } from "./request-guard.ts";

const local = new RequestGuard({ bindHost: "127.0.0.1", hosts: [], origins: [] });
const fleet = new RequestGuard({
  bindHost: "0.0.0.0",
  hosts: ["capstan.example.com", "[2001:db8::1]"],
  origins: ["https://grafana.example.com/"],
});

const cases = [
  { name: "[AP10] loopback by number", guard: local, host: "127.0.0.1:4600", let: true },
  { name: "[AP10] loopback by name", guard: local, host: "localhost:4600", let: true },
  { name: "[AP10] loopback, version six", guard: local, host: "[::1]:4600", let: true },
  { name: "[AP10] a forwarded port", guard: local, host: "localhost:8080", let: true },
  { name: "[AP10] a rebound name", guard: local, host: "evil.example:4600", let: false },
  {
    name: "[AP10] a name that starts like ours",
    guard: local,
    host: "localhost.evil.example",
    let: false,
  },
  {
    name: "[AP10] a name that starts with our number",
    guard: local,
    host: "127.0.0.1.evil.example",
    let: false,
  },
  { name: "[AP10] no Host", guard: local, host: undefined, let: false },
  { name: "[AP10] a Host that is none", guard: local, host: "a@127.0.0.1", let: false },
  {
    name: "[AP10] another address of the machine",
    guard: local,
    host: "192.168.1.2:4600",
    let: false,
  },
  { name: "[AP10] bound elsewhere, an address", guard: fleet, host: "10.1.2.3:4600", let: true },
  {
    name: "[AP10] bound elsewhere, an allowed name",
    guard: fleet,
    host: "Capstan.example.com",
    let: true,
  },
  {
    name: "[AP10] bound elsewhere, an allowed v6",
    guard: fleet,
    host: "[2001:db8::1]:4600",
    let: true,
  },
  { name: "[AP10] bound elsewhere, another name", guard: fleet, host: "evil.example", let: false },
  {
    name: "[AP11] our own page",
    guard: local,
    host: "localhost:4600",
    origin: "http://localhost:4600",
    let: true,
  },
  {
    name: "[AP11] our page behind TLS",
    guard: fleet,
    host: "capstan.example.com",
    origin: "https://capstan.example.com",
    let: true,
  },
  {
    name: "[AP11] another site",
    guard: local,
    host: "127.0.0.1:4600",
    origin: "https://evil.example",
    let: false,
  },
  {
    name: "[AP11] another port of this machine",
    guard: local,
    host: "localhost:4600",
    origin: "http://localhost:3000",
    let: false,
  },
  {
    name: "[AP11] the null origin",
    guard: local,
    host: "localhost:4600",
    origin: "null",
    let: false,
  },
  { name: "[AP11] a file", guard: local, host: "localhost:4600", origin: "file://", let: false },
  {
    name: "[AP11] an allowed origin",
    guard: fleet,
    host: "10.1.2.3",
    origin: "https://grafana.example.com",
    let: true,
  },
  {
    name: "[AP12] an image on another site",
    guard: local,
    host: "localhost:4600",
    site: "cross-site",
    let: false,
  },
  {
    name: "[AP12] an image on another port",
    guard: local,
    host: "localhost:4600",
    site: "same-site",
    let: false,
  },
  { name: "[AP12] the address bar", guard: local, host: "localhost:4600", site: "none", let: true },
];

for (const { name, guard, host, origin, site, let: letIn } of cases) {
  test(name, () => {
    const refusal = guard.refuse({ host, origin, secFetchSite: site });
    assert.equal(refusal === undefined, letIn, JSON.stringify(refusal));
  });
}

test("[AP10] [PR8] there is one Host, and a target that is a whole address names the same", () => {
  const isOne = (host: readonly string[], url: string): boolean =>
    hasOneHost({ url, headersDistinct: { host } } as unknown as IncomingMessage);
  assert.equal(isOne(["127.0.0.1:1"], "/metrics"), true);
  assert.equal(isOne(["127.0.0.1:1"], "/metrics?x=http://evil.example/"), true);
  assert.equal(isOne(["LocalHost:1"], "http://localhost:1/metrics"), true);
  for (const url of ["http://evil.example/metrics", "HTTP://a@127.0.0.1:1/", "http:///x"]) {
    assert.equal(isOne(["127.0.0.1:1"], url), false, url);
  }
  assert.equal(isOne(["127.0.0.1:1", "127.0.0.1:1"], "/"), false);
  assert.equal(isOne([], "/"), false);
});
