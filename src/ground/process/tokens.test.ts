import assert from "node:assert/strict";
import { test } from "node:test";
import { OperatingError } from "../kernel/errors.ts";
import { sameSecret } from "../kernel/node/secrets.ts";
import { checkBind, isLoopback } from "./bind.ts";
import { bearerToken, parseTokens, TokenBook } from "./tokens.ts";

const reader = "r".repeat(20);
const operator = "o".repeat(20);

test("[AP6] a token has the role of its line", () => {
  const text = `# people\nread ${reader}\n\noperate   ${operator}  # the on-call\n`;
  const book = new TokenBook(parseTokens(text, "tokens"));
  assert.equal(book.size, 2);
  assert.equal(book.roleOf(reader), "read");
  assert.equal(book.roleOf(operator), "operate");
  assert.equal(book.roleOf(`${operator}x`), undefined);
  assert.equal(book.roleOf(""), undefined);
  assert.equal(book.operateToken, operator);
});

test("[AP6] a token that is listed twice has the stronger role", () => {
  const twice = parseTokens(`operate ${reader}\nread ${reader}`, "tokens");
  assert.equal(new TokenBook(twice).roleOf(reader), "operate");
});

test("[AP13] a bad token line is named by its number, never quoted", () => {
  for (const line of [`admin ${reader}`, "read", `read ${reader} extra`, "operate short-secret"]) {
    assert.throws(
      () => parseTokens(`# first\n${line}`, "tokens.txt"),
      (thrown) => {
        assert.ok(thrown instanceof OperatingError);
        assert.match(thrown.message, /^line 2 of tokens\.txt /);
        assert.ok(!thrown.message.includes(reader) && !thrown.message.includes("short-secret"));
        return true;
      },
    );
  }
});

test("[AP7] secrets are equal only as wholes", () => {
  assert.ok(sameSecret(reader, reader));
  assert.ok(!sameSecret(reader, reader.slice(1)));
  assert.ok(!sameSecret(reader, ""));
});

test("[AP6] a bearer token is read from its header", () => {
  assert.equal(bearerToken("Bearer abc"), "abc");
  assert.equal(bearerToken("bearer abc "), "abc");
  assert.equal(bearerToken("Basic abc"), undefined);
  assert.equal(bearerToken("Bearer a b"), undefined);
  assert.equal(bearerToken(undefined), undefined);
});

test("[AP5] elsewhere than loopback needs tokens", () => {
  for (const host of ["127.0.0.1", "127.1.2.3", "localhost", "::1", "[::1]"]) {
    assert.ok(isLoopback(host), host);
    checkBind(host, "nothing", "the API");
  }
  for (const host of ["0.0.0.0", "::", "10.0.0.1", "example.com", "127.0.0.1.example.com"]) {
    assert.ok(!isLoopback(host), host);
    assert.throws(() => checkBind(host, "nothing", "the API"), { code: "unsafe_bind" });
    checkBind(host, "tokens", "the API");
  }
});
