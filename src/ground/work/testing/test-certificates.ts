/** A certificate authority for one test, and its certificates. */
import { generate } from "selfsigned";
import type { TlsFiles } from "../../kernel/tls.ts";

export interface TestAuthority {
  readonly ca: string;
  /** Valid for 127.0.0.1, on either side of a connection. */
  identity(name: string): Promise<Required<TlsFiles>>;
}

export async function createTestAuthority(name: string): Promise<TestAuthority> {
  const authority = await generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, critical: true },
    ],
  });
  const ca = authority.cert;
  return {
    ca,
    async identity(identityName) {
      const signed = await generate([{ name: "commonName", value: identityName }], {
        keyType: "ec",
        algorithm: "sha256",
        ca: { key: authority.private, cert: ca },
        extensions: [
          { name: "keyUsage", digitalSignature: true, critical: true },
          { name: "extKeyUsage", serverAuth: true, clientAuth: true },
          { name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] },
        ],
      });
      return { cert: signed.cert, key: signed.private, ca };
    },
  };
}
