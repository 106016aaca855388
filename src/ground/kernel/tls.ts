/** PEM texts. With `ca`, the other side must present a certificate that it signed. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
  readonly ca?: string;
}
