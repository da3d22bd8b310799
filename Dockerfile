# docs/systems.md says how the image is made and run. The base and the libraries are pinned: the same image is made again later.
ARG BASE=python:3.11.14-slim-bookworm

FROM ${BASE} AS build
COPY . /source
# The releases that the digests were compared with (tests/sameness); `pip check` fails where the list has a gap.
RUN python -m venv /opt/corruptset \
    && /opt/corruptset/bin/pip install --no-cache-dir --no-deps -r /source/tests/sameness/newest.txt \
    && /opt/corruptset/bin/pip install --no-cache-dir --no-deps /source \
    && /opt/corruptset/bin/pip check

FROM ${BASE}
LABEL org.opencontainers.image.title="corruptset" \
    org.opencontainers.image.description="Static corrupted image benchmark sets" \
    org.opencontainers.image.version="1.0.0" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/corruptset /opt/corruptset
# Machine code that every processor of this architecture runs: the cache below fits wherever the image is run.
ENV PATH=/opt/corruptset/bin:/usr/local/bin:/usr/bin:/bin CORRUPTSET_CACHE=/opt/corruptset-cache NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES=
# Kernels, tables and textures are made once, into the image, which any user reads and nobody writes to.
RUN corruptset build imagenet-c-all --samples 1 --out /tmp/warm --jobs 1 \
    && for recipe in cifar10-c tiny-imagenet-c mnist-c image-degrade-30; do corruptset preview --recipe $recipe --out /tmp/warm/$recipe.png || exit 1; done \
    && rm -r /tmp/warm \
    && chmod -R a+rX,go-w /opt/corruptset-cache
RUN mkdir -m 1777 /data
WORKDIR /data
USER 1000:1000
ENTRYPOINT ["corruptset"]
CMD ["--help"]
