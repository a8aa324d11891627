# Retake, CPU runtime image. Build: docker build -t retake .   Run: see README.md
FROM debian:12 AS build
RUN apt-get update && apt-get install -y --no-install-recommends \
      gcc make cmake pkg-config git ca-certificates nodejs npm libmicrohttpd-dev libjansson-dev \
      libpng-dev libjpeg-dev libturbojpeg0-dev libsqlite3-dev libzip-dev libarchive-dev zlib1g-dev \
      libzstd-dev nettle-dev && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund
COPY . .
RUN cmake --preset release -DRETAKE_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/usr \
 && cmake --build build/release -j && DESTDIR=/out cmake --install build/release --strip

FROM debian:12-slim AS runtime
RUN apt-get update && apt-get install -y --no-install-recommends \
      libmicrohttpd12 libjansson4 libpng16-16 libjpeg62-turbo libturbojpeg0 libsqlite3-0 libzip4 \
      libarchive13 zlib1g libzstd1 libnettle8 libgomp1 curl && rm -rf /var/lib/apt/lists/* \
 && useradd --system --home-dir /data --create-home retake
COPY --from=build /out/usr /usr
USER retake
VOLUME /data
EXPOSE 8080
# Only loopback can be bound in this version: run with --network host, or share the network namespace.
HEALTHCHECK --interval=10s --timeout=3s CMD curl -fsS http://127.0.0.1:8080/v1/health/live || exit 1
ENTRYPOINT ["retake"]
CMD ["serve", "--data", "/data"]
