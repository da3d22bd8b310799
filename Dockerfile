FROM python:3.11-slim AS build
COPY . /source
RUN python -m venv /opt/corruptset && /opt/corruptset/bin/pip install --no-cache-dir /source

FROM python:3.11-slim
COPY --from=build /opt/corruptset /opt/corruptset
RUN useradd --create-home --uid 1000 corruptset && mkdir /data && chown corruptset /data
USER corruptset
ENV PATH=/opt/corruptset/bin:$PATH CORRUPTSET_CACHE=/home/corruptset/.cache/corruptset
WORKDIR /data
# Kernels, tables and textures are made once, into the image.
RUN corruptset build imagenet-c-all --out /tmp/warm --jobs 1 && rm -r /tmp/warm
ENTRYPOINT ["corruptset"]
CMD ["--help"]
